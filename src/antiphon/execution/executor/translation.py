"""A call in one dialect, said in another that the server understands."""

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import msgspec

from antiphon.core.errors import UnsupportedParameter
from antiphon.core.types import Call, Usage
from antiphon.execution.providers import Provider
from antiphon.execution.wire import speakers
from antiphon.execution.wire.chat import ChatRequest
from antiphon.execution.wire.chat_answer import Counted, Event, Failed
from antiphon.execution.wire.dialect import (
    InboundChat,
    InboundCount,
    InboundEmbedding,
    InboundRerank,
    OutboundChat,
    OutboundCount,
    OutboundEmbedding,
    OutboundRerank,
)
from antiphon.execution.wire.embedding import EmbeddingRequest
from antiphon.execution.wire.endpoints import ENDPOINTS
from antiphon.execution.wire.rerank import RerankRequest
from antiphon.execution.wire.said_errors import refused

_FIELDS: Final = {
    "stop_sequences": "stop",
    "tools": "tools",
    "output_config": "response_format",
    "output_config.format": "response_format",
    "text": "response_format",
    "text.format": "response_format",
    "include": "logprobs",
    "format": "response_format",
    "repeat_penalty": "repetition_penalty",
    "num_predict": "max_tokens",
    "reasoning_effort": "reasoning",
    "thinking": "reasoning",
    "think": "reasoning",
    "parallel_tool_calls": "parallel_tools",
    "tool_choice.disable_parallel_tool_use": "parallel_tools",
    "input_type": "task",
    "truncation": "truncate",
    "max_tokens_per_doc": "max_tokens_per_document",
}
"""Names that dialects have for fields of a neutral request, where they are not its own."""
_KEPT: Final = frozenset(
    (
        "dialect", "model", "messages", "stream", "wants_usage", "extra", "hints", "names", "echo",
        "inputs", "single", "encoding", "query", "documents", "top_n", "return_documents",
    )
)  # fmt: skip
"""Fields of a neutral request without which it would be another one."""

_STRICT: Final = re.compile(r"tools\[(\d+)\]\.strict")
"""That calls of a tool keep to its schema, which a tool can go without."""

Request = TypeVar("Request", ChatRequest, EmbeddingRequest, RerankRequest)


class StreamTranslation(msgspec.Struct, frozen=True):
    """How a streamed answer is read, and written for the caller."""

    request: ChatRequest
    """What the caller asked."""
    inbound: InboundChat
    outbound: OutboundChat
    write_whole: Callable[[Sequence[Event]], tuple[Usage | None, bytes]]
    """Usage and body for a caller who wants it in one piece. Raises UpstreamRefused for an error among the events."""


class Translation(msgspec.Struct, frozen=True):
    """A call on its way to a server of another dialect, and the way back of its answer."""

    call: Call
    """As the server is asked."""
    read_whole: Callable[[bytes], tuple[Usage | None, bytes]]
    """Usage and body for the caller of an answer in one piece. Raises UpstreamBroken or UpstreamRefused."""
    stream: StreamTranslation | None = None
    """None for what is never streamed."""


def translated(call: Call, provider: Provider, upstream: str) -> Translation:
    """The call in the words of the provider's server, which calls the model ``upstream``.

    Raises InvalidRequest or UnsupportedParameter.
    """
    endpoint, outbound = ENDPOINTS[call.endpoint], provider.outbound
    if endpoint.chat is not None and outbound.chat is not None:
        return _chat(call, provider, upstream, endpoint.chat, outbound.chat)
    if endpoint.embedding is not None and outbound.embedding is not None:
        return _embedding(call, provider, upstream, endpoint.embedding, outbound.embedding)
    if endpoint.rerank is not None and outbound.rerank is not None:
        return _rerank(call, provider, upstream, endpoint.rerank, outbound.rerank)
    if endpoint.count is not None and outbound.count is not None:
        return _count(call, provider, upstream, endpoint.count, outbound.count)
    raise provider.server.lacking.endpoint(call)


def _chat(call: Call, provider: Provider, upstream: str, inbound: InboundChat, outbound: OutboundChat) -> Translation:
    request = inbound.decode_request(call.body)
    stream = call.stream or outbound.streams_only
    told = msgspec.structs.replace(request, model=upstream, stream=stream, wants_usage=provider.chat.stream_usage and stream)
    body = _encoded(told, call, lambda asked: outbound.encode_request(asked, provider.chat))

    def write_whole(events: Sequence[Event]) -> tuple[Usage | None, bytes]:
        usage: Usage | None = None
        for event in events:
            if isinstance(event, Failed):
                raise refused(event)
            if isinstance(event, Counted):
                usage = event.usage
        return usage, inbound.write_whole(events, request, call.id)[1]

    asked = msgspec.structs.replace(_asked(call, provider, upstream, outbound.endpoint, body), stream=stream)
    return Translation(
        asked,
        lambda body: write_whole(outbound.read_whole(body)),
        StreamTranslation(request, inbound, outbound, write_whole),
    )


def _embedding(
    call: Call, provider: Provider, upstream: str, inbound: InboundEmbedding, outbound: OutboundEmbedding
) -> Translation:
    request = inbound.decode_request(call.body)
    told = msgspec.structs.replace(request, model=upstream)
    body = _encoded(told, call, lambda asked: outbound.encode_request(asked, provider.embedding))

    def read_whole(body: bytes) -> tuple[Usage | None, bytes]:
        answer = outbound.read_answer(body, request)
        return answer.usage, inbound.write_answer(answer, request, call.id)

    return Translation(_asked(call, provider, upstream, outbound.endpoint, body), read_whole)


def _rerank(call: Call, provider: Provider, upstream: str, inbound: InboundRerank, outbound: OutboundRerank) -> Translation:
    request = inbound.decode_request(call.body)
    told = msgspec.structs.replace(request, model=upstream)
    body = _encoded(told, call, outbound.encode_request)

    def read_whole(body: bytes) -> tuple[Usage | None, bytes]:
        answer = outbound.read_answer(body, request)
        return answer.usage, inbound.write_answer(answer, request, call.id)

    return Translation(_asked(call, provider, upstream, outbound.endpoint, body), read_whole)


def _count(call: Call, provider: Provider, upstream: str, inbound: InboundCount, outbound: OutboundCount) -> Translation:
    told = msgspec.structs.replace(inbound.decode_request(call.body), model=upstream)
    body = _encoded(told, call, lambda asked: outbound.encode_request(asked, provider.chat))

    def read_whole(body: bytes) -> tuple[Usage | None, bytes]:
        return None, inbound.write_answer(outbound.read_answer(body))

    return Translation(_asked(call, provider, upstream, outbound.endpoint, body), read_whole)


def _asked(call: Call, provider: Provider, upstream: str, endpoint: str, body: bytes) -> Call:
    dialect = provider.outbound.dialect
    return msgspec.structs.replace(call, endpoint=endpoint, model=upstream, body=body, dialect=dialect, wants_usage=True)


def _encoded(request: Request, call: Call, encode: Callable[[Request], bytes]) -> bytes:
    """The body of the call; what the server cannot do is left out, and noted, where the caller allows it."""
    while True:
        try:
            return encode(request)
        except UnsupportedParameter as error:
            others: tuple[str, ...] = _alike(request, error)
            less = _without(request, error.param, others) if call.drops and error.param else None
            error = _called(error, request)
            if less is None or less[0] == request:
                raise error from None
            error.forget_origin()
            request, dropped = less
            call.dropped.extend(dropped or [str(error.param), *others])


def _called(error: UnsupportedParameter, request: Request) -> UnsupportedParameter:
    """The error with the caller's own name for the field."""
    name = request.called(error.param) if error.param and isinstance(request, ChatRequest) else None
    if name is not None and name != error.param:
        error.message = error.message.replace(f"`{error.param}`", f"`{name}`")
        error.param = name
    return error


def _alike(request: Request, error: UnsupportedParameter) -> tuple[str, ...]:
    """Fields that go with the one that an error names: one at a time, thousands would take as many attempts."""
    if error.param and _STRICT.fullmatch(error.param) and isinstance(request, ChatRequest):
        strict = (f"tools[{at}].strict" for at, tool in enumerate(request.tools) if tool.strict)
        return tuple(name for name in strict if name != error.param)
    return error.also


def _without(request: Any, param: str, others: Sequence[str] = ()) -> tuple[Any, list[str]] | None:
    """The request without some fields, and what else went; None where it cannot go without, as without a part of a message."""
    if isinstance(request, ChatRequest) and (less := speakers.without(request, param)) is not None:
        return less
    less_fields = _without_fields(request, param, others)
    return None if less_fields is None else (less_fields, [])


def _without_fields(request: Request, param: str, others: Sequence[str]) -> Request | None:
    if _STRICT.fullmatch(param) is not None and isinstance(request, ChatRequest):
        return msgspec.structs.replace(request, tools=tuple(msgspec.structs.replace(tool, strict=None) for tool in request.tools))
    if param in request.extra:
        dropped = {param, *others}
        return msgspec.structs.replace(request, extra={name: raw for name, raw in request.extra.items() if name not in dropped})
    field = _FIELDS.get(param, param)
    if field not in request.__struct_fields__ or field in _KEPT:
        return None
    reset: dict[str, Any] = {field: _DEFAULTS[type(request)][field]}
    if field == "tools":
        reset |= {"tool_choice": None, "parallel_tools": None}
    return msgspec.structs.replace(request, **reset)


_DEFAULTS: Final[dict[type, dict[str, Any]]] = {
    kind: {field.name: field.default for field in msgspec.structs.fields(kind) if field.name not in _KEPT}
    for kind in (ChatRequest, EmbeddingRequest, RerankRequest)
}
