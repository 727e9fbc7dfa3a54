"""Where a setting was written, and what is wrong with it."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

import msgspec
import yaml

from antiphon.core.errors import ConfigError

VARIABLE_MARK = "environment variable "
"""Begins the name of the YAML marks of values that come from the environment."""


class Place(msgspec.Struct, frozen=True):
    """File, line and column, counted from 1; or a variable of the environment."""

    file: str = ""
    line: int = 0
    column: int = 0
    variable: str = ""

    @classmethod
    def of(cls, mark: yaml.Mark | None) -> "Place":
        """The place of a YAML mark."""
        if mark is None:
            return cls()
        if mark.name.startswith(VARIABLE_MARK):
            return cls(variable=mark.name.removeprefix(VARIABLE_MARK))
        return cls(mark.name, mark.line + 1, mark.column + 1)

    def __str__(self) -> str:
        return self.variable or f"{self.file}:{self.line}"

    def error(self, message: str, *, remedy: str, key: str = "") -> ConfigError:
        """An error at this place."""
        if self.variable:
            message = f"{self.variable}: {message}"
        return ConfigError(message, remedy=remedy, file=self.file, line=self.line, column=self.column, key=key)


class ConfigErrors(ConfigError):
    """The configuration has several errors."""

    usual_remedy = 'correct each of them; "antiphon config check" tells what is left'

    def __init__(self, errors: Sequence[ConfigError]) -> None:
        first = errors[0]
        super().__init__(
            f"the configuration has {len(errors)} errors", file=first.file, line=first.line, column=first.column, key=first.key
        )
        self.errors = tuple(errors)

    def __str__(self) -> str:
        return "\n".join([f"{self.message}:", *(f"  {error}" for error in self.errors)])


def raise_all(errors: Sequence[ConfigError]) -> None:
    """Raise what there is: nothing, the one error, or all of them as one, in the order of the file."""
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise ConfigErrors(sorted(errors, key=lambda error: (error.file, error.line, error.column)))


def nearest(name: str, known: Sequence[str], cutoff: float = 0.6) -> str:
    """The known name that was probably meant; empty where none is near."""
    matches = get_close_matches(name.lower().replace("-", "_"), known, n=1, cutoff=cutoff)
    return matches[0] if matches else ""


def among(name: str, known: Iterable[str], none: str = "none") -> str:
    """What to do about a name that is not known: which one was probably meant, and which there are."""
    names = sorted(known)
    near = nearest(name, names)
    hint = f'did you mean "{near}"? ' if near else ""
    return f"{hint}known: {', '.join(names) or none}"
