"""Options of a command as one frozen struct instead of a long row of parameters."""

import functools
import inspect
from collections.abc import Callable
from typing import TypeVar, get_type_hints

import msgspec

Options = TypeVar("Options", bound=msgspec.Struct)


def takes(struct: type[Options]) -> Callable[[Callable[[Options], None]], Callable[..., None]]:
    """Let a command take the fields of a struct as its parameters; each field is annotated as typer wants a parameter."""

    def decorate(command: Callable[[Options], None]) -> Callable[..., None]:
        @functools.wraps(command)
        def wrapper(**values: object) -> None:
            command(struct(**values))

        hints = get_type_hints(struct, include_extras=True)
        fields = {field.name: field for field in msgspec.structs.fields(struct)}
        parameters = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if field.required else field.default,
                annotation=hints[name],
            )
            for name, field in fields.items()
        ]
        del wrapper.__wrapped__  # else its signature is taken for the one of the command
        wrapper.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        wrapper.__annotations__ = hints
        return wrapper

    return decorate
