"""Bounds the answer of a call that names no bound itself, in the words of its dialect."""

from typing import Any, Final

import msgspec

from antiphon.core.types import Call
from antiphon.execution.wire.openai.passthrough import fields_of
from antiphon.execution.wire.reading import encode

_FIELDS: Final = {
    "chat/completions": "max_tokens",
    "completions": "max_tokens",
    "responses": "max_output_tokens",
    "messages": "max_tokens",
}
_IN_OPTIONS: Final = frozenset(("api/chat", "api/generate"))

BOUNDABLE: Final = frozenset((*_FIELDS, *_IN_OPTIONS))
"""Endpoints whose answers are texts of a length that a caller may bound."""


def bounded(call: Call, tokens: int) -> Call:
    """The call, with an answer of at most so many tokens. Raises InvalidRequest for a body that is no JSON object."""
    fields = fields_of(call.body)
    if call.endpoint in _IN_OPTIONS:
        options: Any = msgspec.json.decode(fields.get("options", msgspec.Raw(b"null")))
        fields["options"] = msgspec.Raw(encode({**(options if isinstance(options, dict) else {}), "num_predict": tokens}))
    else:
        fields[_FIELDS[call.endpoint]] = msgspec.Raw(encode(tokens))
    return msgspec.structs.replace(call, body=encode(fields), max_tokens=tokens)
