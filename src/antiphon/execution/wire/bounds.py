"""How long the answer of a call may be, in the words of its dialect: read, and set where a call does not say."""

from typing import Any, Final

import msgspec

from antiphon.core.errors import InvalidRequest
from antiphon.core.types import Call
from antiphon.execution.wire.openai.fields import RequestHead
from antiphon.execution.wire.openai.passthrough import fields_of
from antiphon.execution.wire.reading import encode

_FIELDS: Final = {
    "chat/completions": ("max_tokens", "max_completion_tokens"),
    "completions": ("max_tokens",),
    "responses": ("max_output_tokens",),
    "messages": ("max_tokens",),
    "api/chat": ("num_predict",),
    "api/generate": ("num_predict",),
}
"""Of each endpoint whose answers are texts, the fields that bound them; the first is the one that is set."""
_IN_OPTIONS: Final = frozenset(("api/chat", "api/generate"))

BOUNDABLE: Final = frozenset(_FIELDS)
"""Endpoints whose answers are texts of a length that a caller may bound."""


def bound_of(head: RequestHead, endpoint: str) -> int:
    """Tokens that an answer may have at most, 0 where the request does not say.

    Only the fields of its own dialect count; of several, servers differ in which they obey, so the largest does.
    """
    source: Any = head.options if endpoint in _IN_OPTIONS else head
    longest = 0
    for name in _FIELDS.get(endpoint, ()):
        bound = source.get(name) if isinstance(source, dict) else getattr(source, name, None)
        if type(bound) is int and bound > longest:
            longest = bound
    return longest


def answers_of(call: Call) -> int:
    """Answers that a call wants: some for each of its prompts, of which plain completions may have many."""
    if call.endpoint != "completions":
        return call.choices
    try:
        prompt = msgspec.json.decode(call.body, type=_Prompts).prompt
    except msgspec.MsgspecError:
        return call.choices
    many = isinstance(prompt, list) and bool(prompt) and not isinstance(prompt[0], int)
    return call.choices * len(prompt) if many else call.choices


def bounded(call: Call, tokens: int) -> Call:
    """The call, with an answer of at most so many tokens. Raises InvalidRequest where it names a bound that is none."""
    fields = fields_of(call.body)
    names = _FIELDS[call.endpoint]
    inside: dict[str, Any] = fields
    if call.endpoint in _IN_OPTIONS:
        options = msgspec.json.decode(fields.get("options", msgspec.Raw(b"null")))
        inside = options if isinstance(options, dict) else {}
    for name in names:
        told = inside.get(name)
        if told is not None and told != msgspec.Raw(b"null"):
            raise InvalidRequest(f"`{name}` is not a whole number above 0", param=name, remedy="give one, or leave it out")
    if inside is fields:
        fields[names[0]] = msgspec.Raw(encode(tokens))
    else:
        fields["options"] = msgspec.Raw(encode({**inside, names[0]: tokens}))
    return msgspec.structs.replace(call, body=encode(fields), max_tokens=tokens)


class _Prompts(msgspec.Struct):
    prompt: Any = None
