"""Gemini's ``countTokens``, asked with the whole request whose tokens are to be counted: tools and instructions are among them.

Shapes after Google's API reference, "Counting tokens" (v1beta), and its Python SDK.
"""

from typing import Any, Final

import msgspec

from antiphon.core.errors import UpstreamBroken
from antiphon.execution.wire import reading
from antiphon.execution.wire.chat import ChatAbilities, ChatRequest
from antiphon.execution.wire.dialect import OutboundCount
from antiphon.execution.wire.gemini.names import resource_name
from antiphon.execution.wire.gemini.request_writer import fields_of
from antiphon.execution.wire.reading import Count
from antiphon.execution.wire.said_errors import refused, said

ENDPOINT: Final = "Gemini's countTokens"


class _Answer(msgspec.Struct, rename="camel"):
    total_tokens: Count | None = None
    error: Any = None


_decode_answer = msgspec.json.Decoder(_Answer).decode


def encode_request(request: ChatRequest, abilities: ChatAbilities) -> bytes:
    """The body for ``countTokens``. Raises UnsupportedParameter, naming the first field that the server cannot honour."""
    asked = {"model": resource_name(request.model), **fields_of(request, abilities)}
    return reading.encode({"generateContentRequest": asked})


def read_answer(body: bytes) -> int:
    """Raises UpstreamBroken where this tells no number, UpstreamRefused where it tells an error."""
    answer = reading.decode_answer(_decode_answer, body, ENDPOINT)
    if answer.error is not None:
        raise refused(said(answer.error, 502))
    if answer.total_tokens is None:
        raise UpstreamBroken("the model's server was asked to count tokens and told no number")
    return answer.total_tokens


OUTBOUND_COUNT: Final = OutboundCount("countTokens", encode_request, read_answer)
