"""A call in one dialect, said in another that the server understands."""

from typing import Any, Final

import msgspec

from antiphon.core.errors import UnsupportedParameter
from antiphon.core.types import Call
from antiphon.execution.providers import Provider
from antiphon.execution.wire.chat import ChatRequest
from antiphon.execution.wire.dialect import InboundChat, OutboundChat
from antiphon.execution.wire.endpoints import ENDPOINTS

_FIELDS: Final = {
    "stop_sequences": "stop",
    "tools": "tools",
    "output_config": "response_format",
    "output_config.format": "response_format",
    "text": "response_format",
    "format": "response_format",
    "reasoning_effort": "reasoning",
    "thinking": "reasoning",
    "think": "reasoning",
    "parallel_tool_calls": "parallel_tools",
    "tool_choice.disable_parallel_tool_use": "parallel_tools",
}
"""Names that dialects have for fields of the neutral request, where they are not its own."""
_KEPT: Final = frozenset(("dialect", "model", "messages", "stream", "wants_usage", "extra", "hints", "names"))
"""Fields of the neutral request without which it would be another one."""


class Translation(msgspec.Struct, frozen=True):
    """A call on its way to a server of another dialect."""

    call: Call
    """As the server is asked."""
    request: ChatRequest
    """What the caller asked."""
    inbound: InboundChat
    outbound: OutboundChat


def translated(call: Call, provider: Provider, upstream: str) -> Translation:
    """The call in the words of the provider's server, which calls the model ``upstream``.

    Raises InvalidRequest or UnsupportedParameter.
    """
    inbound, outbound = ENDPOINTS[call.endpoint].chat, provider.outbound.chat
    if inbound is None or outbound is None:
        raise provider.lacks(call)
    request = inbound.decode_request(call.body)
    told = msgspec.structs.replace(request, model=upstream, wants_usage=provider.chat.stream_usage and call.stream)
    body = _encoded(told, call, provider, outbound)
    asked = msgspec.structs.replace(
        call, endpoint=outbound.endpoint, model=upstream, body=body, dialect=provider.outbound.dialect, wants_usage=True
    )
    return Translation(asked, request, inbound, outbound)


def _encoded(request: ChatRequest, call: Call, provider: Provider, outbound: OutboundChat) -> bytes:
    """The body of the call; what the server cannot do is left out, and noted, where the caller allows it."""
    while True:
        try:
            return outbound.encode_request(request, provider.chat)
        except UnsupportedParameter as error:
            less = _without(request, error.param) if call.drops and error.param else None
            if less is None or less == request:
                raise
            request = less
            call.dropped.append(str(error.param))


def _without(request: ChatRequest, param: str) -> ChatRequest | None:
    """The request without a field of its own; None where it cannot go without it, as without a part of a message."""
    if param in request.extra:
        return msgspec.structs.replace(request, extra={name: raw for name, raw in request.extra.items() if name != param})
    field = _FIELDS.get(param, param)
    if field not in request.__struct_fields__ or field in _KEPT:
        return None
    reset: dict[str, Any] = {field: _DEFAULTS[field]}
    if field == "tools":
        reset |= {"tool_choice": None, "parallel_tools": None}
    return msgspec.structs.replace(request, **reset)


_DEFAULTS: Final = {field.name: field.default for field in msgspec.structs.fields(ChatRequest) if field.name not in _KEPT}
