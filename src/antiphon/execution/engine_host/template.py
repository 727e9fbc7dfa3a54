"""Renders conversations with the model's own chat template, and keeps what callers wrote from forging turns.

Templates mark turns with control tokens (``<|im_end|>``). A caller, or a document that a caller quotes, may write the same
characters, and a tokenizer that reads the rendered text would take them for the real thing. So a mark is set inside every such
text of the conversation before the template runs, and the rendered text is cut there before it is encoded: the model reads every
character that was written, but as plain text. Text without control tokens, that is nearly all of it, is encoded in one go and
gives exactly the tokens that it gives anywhere else.
"""

import datetime as dt
import json
import re
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn

import jinja2
import msgspec
from jinja2.sandbox import ImmutableSandboxedEnvironment

from antiphon.core.errors import InvalidRequest, SetupError, UnsupportedParameter
from antiphon.core.ports import Engine
from antiphon.execution.engine_host.requests import Message

MAX_DEPTH: Final = 100
"""Levels of what a conversation and its variables hand to the template."""

_MARK = f"\ufdd0{secrets.token_hex(8)}\ufdd0"
"""Stands where a control token is cut. Nobody can guess it, so nobody can write it."""

_LOOKS_LIKE_CONTROL = re.compile(r"<[^<>\s]{1,40}>|\[/?[A-Z_]{2,24}\]")
_RESERVED = frozenset({"messages", "add_generation_prompt", "bos_token", "eos_token", "tools", "raise_exception", "strftime_now"})
_OF_JINJA = frozenset({"self", "super", "loop", "caller", "varargs", "kwargs"})
"""Names that Jinja gives a meaning of its own."""


_FAULTS = (jinja2.TemplateError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError)
"""What a template raises at a conversation that it was not written for."""


class ChatTemplate:
    """The chat template of an engine's model. Raises SetupError where it is not valid Jinja."""

    def __init__(self, engine: Engine) -> None:
        info = engine.info
        self.source = info.chat_template
        self._tokens = {"bos_token": info.bos_token, "eos_token": info.eos_token}
        self._control = _control_pattern(engine)
        try:
            self._template = _environment().from_string(self.source)
        except jinja2.TemplateError as error:
            raise SetupError(
                f'the chat template of model "{info.model}" is not valid: {error}',
                remedy="use a file of the model with a valid template",
            ) from error

    def render(self, messages: Sequence[Message], variables: Mapping[str, Any] | None = None) -> list[str]:
        """The prompt, in pieces that are to be encoded one by one. Raises InvalidRequest where the template refuses."""
        if not self.source:
            raise InvalidRequest("this model has no chat template", remedy="use /v1/completions", param="messages")
        _check_variables(variables or {})
        try:
            return self._rendered(messages, variables or {})
        except RecursionError:
            fault = "they are nested too deeply"
        except _FAULTS as error:
            fault = str(error)
        field = "chat_template_kwargs" if variables and self._renders(messages) else "messages"
        if field == "messages":
            what, remedy = (
                f"the chat template of this model cannot render these messages: {fault}",
                "change the messages or their roles",
            )
        else:
            what, remedy = (
                f"the chat template of this model cannot take these `{field}`: {fault}",
                "change or leave out what is wrong",
            )
        raise InvalidRequest(what, remedy=remedy, param=field)

    def _renders(self, messages: Sequence[Message]) -> bool:
        """Whether the messages alone can be rendered."""
        try:
            self._rendered(messages, {})
        except (RecursionError, *_FAULTS):
            return False
        return True

    def _rendered(self, messages: Sequence[Message], variables: Mapping[str, Any]) -> list[str]:
        conversation = [self._message(message, f"messages[{position}]") for position, message in enumerate(messages)]
        text = self._template.render(
            messages=conversation, add_generation_prompt=True, tools=None, **self._tokens, **self._guarded(variables)
        )
        return [piece for piece in text.split(_MARK) if piece]

    def _message(self, message: Message, path: str) -> dict[str, Any]:
        """A message as templates expect it."""
        role = "system" if message.role == "developer" and "developer" not in self.source else message.role
        fields: dict[str, Any] = {"role": role, "content": _text(message)}
        for name in ("name", "tool_call_id", "reasoning_content"):
            value = getattr(message, name)
            if value is not None:
                fields[name] = value
        if message.tool_calls:
            if "tool_calls" not in self.source:
                raise UnsupportedParameter(
                    f"`{path}.tool_calls` is not supported: the chat template of this model has no tool calls",
                    remedy="leave the calls out of the conversation",
                    param=f"{path}.tool_calls",
                )
            fields["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.function.name, "arguments": msgspec.json.decode(call.function.arguments or "{}")},
                }
                for call in message.tool_calls
            ]
        guarded: dict[str, Any] = self._guarded(fields)
        return guarded

    def _guarded(self, value: Any, depth: int = 0) -> Any:
        """``value`` with a mark inside every control token that a text in it spells. Raises ValueError where it is too deep."""
        if depth > MAX_DEPTH:
            raise ValueError(f"they are nested deeper than {MAX_DEPTH} levels")
        if isinstance(value, str):
            return self._control.sub(lambda found: found[0][0] + _MARK + found[0][1:], value)
        if isinstance(value, Mapping):
            return {self._guarded(key): self._guarded(item, depth + 1) for key, item in value.items()}
        if isinstance(value, list):
            return [self._guarded(item, depth + 1) for item in value]
        return value


def _check_variables(variables: Mapping[str, Any]) -> None:
    """Raise InvalidRequest for a variable that a caller cannot set."""
    for name in variables:
        path = f"chat_template_kwargs.{name[:200]}"
        if name in _RESERVED:
            raise InvalidRequest(f"`{path}` is set by the server", remedy="leave it out", param=path)
        if name in _OF_JINJA or not name.isidentifier():
            raise InvalidRequest(f"`{path}` cannot be the name of a template's variable", remedy="leave it out", param=path)


def _text(message: Message) -> str:
    """The text of a message; of several parts, with a line break between them."""
    if isinstance(message.content, str):
        return message.content
    return "\n".join(part.text or part.refusal or "" for part in message.content or ())


def _control_pattern(engine: Engine) -> re.Pattern[str]:
    """What the tokenizer takes for control tokens: as the engine tells, and what else in the template turns out to be one."""
    info = engine.info
    found = {*info.control_tokens, info.bos_token, info.eos_token} - {""}
    for text in set(_LOOKS_LIKE_CONTROL.findall(info.chat_template)) - found:
        ids = engine.encode(text)
        if len(ids) == 1 and not engine.token_bytes(ids[0]):
            found.add(text)
    ordered = sorted((text for text in found if len(text) > 1), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, ordered)) or r"(?!)")


def _environment() -> ImmutableSandboxedEnvironment:
    """Jinja as Hugging Face's ``apply_chat_template`` sets it up; templates are written for that."""
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = _raise_exception
    environment.globals["strftime_now"] = lambda form: dt.datetime.now(dt.UTC).astimezone().strftime(form)
    return environment


def _tojson(
    value: Any, ensure_ascii: bool = False, indent: int | None = None, separators: Any = None, sort_keys: bool = False
) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _raise_exception(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)
