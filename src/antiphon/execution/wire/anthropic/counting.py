"""Anthropic's ``/v1/messages/count_tokens``: its callers, and its servers.

Shapes after Anthropic's API reference, "Count tokens in a Message", and its Python SDK.
"""

from typing import Any, Final

import msgspec

from antiphon.core.errors import UpstreamBroken
from antiphon.execution.wire import reading
from antiphon.execution.wire.anthropic.answer_reader import STATUSES
from antiphon.execution.wire.anthropic.passing import read_passed
from antiphon.execution.wire.anthropic.request_reader import decode_count
from antiphon.execution.wire.anthropic.request_writer import encode_request as encode_chat
from antiphon.execution.wire.chat import ChatAbilities, ChatRequest
from antiphon.execution.wire.dialect import InboundCount, OutboundCount, Passing
from antiphon.execution.wire.reading import Count
from antiphon.execution.wire.said_errors import refused, said

ENDPOINT: Final = "Anthropic's count of tokens"
_COUNTED: Final = ("model", "messages", "system", "tools", "tool_choice", "thinking", "output_config")
"""Fields of a chat that a count may have; no others make tokens."""


class _Answer(msgspec.Struct):
    input_tokens: Count | None = None
    error: Any = None


_ANY_LENGTH: Final = 1 << 20
"""Tokens of an answer that nobody asks for."""

_decode_answer = msgspec.json.Decoder(_Answer).decode
_decode_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def write_answer(tokens: int) -> bytes:
    """The body."""
    return reading.encode({"input_tokens": tokens})


def encode_request(request: ChatRequest, abilities: ChatAbilities) -> bytes:
    """The body for ``/v1/messages/count_tokens``. Raises UnsupportedParameter for the first field that the chat could not have."""
    unbounded = msgspec.structs.replace(abilities, max_tokens=abilities.max_tokens or _ANY_LENGTH)
    fields = _decode_fields(encode_chat(request, unbounded))
    return reading.encode({name: fields[name] for name in _COUNTED if name in fields})


def read_answer(body: bytes) -> int:
    """Raises UpstreamBroken where this tells no number, UpstreamRefused where it tells an error."""
    answer = reading.decode_answer(_decode_answer, body, ENDPOINT)
    if answer.error is not None:
        kind = answer.error.get("type") if isinstance(answer.error, dict) else None
        raise refused(said(answer.error, STATUSES.get(kind, 502) if isinstance(kind, str) else 502))
    if answer.input_tokens is None:
        raise UpstreamBroken("the model's server was asked to count tokens and told no number")
    return answer.input_tokens


INBOUND_COUNT: Final = InboundCount(decode_count, write_answer)
OUTBOUND_COUNT: Final = OutboundCount("messages/count_tokens", encode_request, read_answer)
PASSING: Final = Passing(read_passed)
"""A count uses nothing, and tells no usage."""
