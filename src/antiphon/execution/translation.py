"""A call in one dialect, answered by a server that speaks another: its request goes through the neutral form, and its answer back.

A call whose dialect the server speaks never comes here: its bytes stay as they are.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol

import msgspec

from antiphon.core.errors import AntiphonError, UnsupportedParameter, UpstreamRefused
from antiphon.core.ports import Sink
from antiphon.core.types import Call, Frame, Headers, Usage
from antiphon.execution.wire.anthropic import chat as anthropic
from antiphon.execution.wire.chat import ChatAbilities, ChatRequest
from antiphon.execution.wire.chat_answer import Event
from antiphon.execution.wire.openai import chat as openai_chat


class AnswerReader(Protocol):
    """Reads one streamed answer."""

    def feed(self, raw: bytes) -> Sequence[Event]:
        """What whole server-sent events tell. Raises UpstreamBroken for what is none of the dialect."""

    def end(self) -> Sequence[Event]:
        """What is left once the stream is over. Raises UpstreamBroken where it was cut off."""


class AnswerWriter(Protocol):
    """Writes one streamed answer."""

    def write(self, events: Iterable[Event]) -> bytes:
        """Whole server-sent events; empty where there is nothing to say yet."""


class Dialect(msgspec.Struct, frozen=True):
    """How a dialect is read and written, and where its chat is."""

    endpoint: str
    """Path below the API's root."""
    decode_request: Callable[[bytes], ChatRequest]
    encode_request: Callable[[ChatRequest, ChatAbilities], bytes]
    reader: Callable[[], AnswerReader]
    writer: Callable[[ChatRequest, str], AnswerWriter]
    read_whole: Callable[[bytes], Sequence[Event]]
    write_whole: Callable[[Iterable[Event], str, str], tuple[int, bytes]]


DIALECTS: Final = {
    openai_chat.DIALECT: Dialect(
        "chat/completions",
        openai_chat.decode_request,
        openai_chat.encode_request,
        openai_chat.AnswerReader,
        lambda request, identity: openai_chat.AnswerWriter(request.model, identity, wants_usage=request.wants_usage),
        openai_chat.read_whole,
        openai_chat.write_whole,
    ),
    anthropic.DIALECT: Dialect(
        "messages",
        anthropic.decode_request,
        anthropic.encode_request,
        anthropic.AnswerReader,
        lambda request, identity: anthropic.AnswerWriter(request.model, identity),
        anthropic.read_whole,
        anthropic.write_whole,
    ),
}


def translated(call: Call, sink: Sink, dialect: str, abilities: ChatAbilities) -> tuple[Call, Sink]:
    """The call in the server's dialect, and the sink that takes its answer. Raises InvalidRequest or UnsupportedParameter."""
    callers, servers = DIALECTS[call.dialect], DIALECTS[dialect]
    if call.endpoint != callers.endpoint:
        raise UnsupportedParameter(
            f'model "{call.model}" does not serve /v1/{call.endpoint}', remedy="ask another model", param="model"
        )
    request = callers.decode_request(call.body)
    told = msgspec.structs.replace(request, wants_usage=abilities.stream_usage and call.stream)
    asked = msgspec.structs.replace(
        call, endpoint=servers.endpoint, body=servers.encode_request(told, abilities), dialect=dialect, wants_usage=True
    )
    answer = _Streamed if call.stream else _Whole
    return asked, answer(sink, call, request, callers, servers)


class _Whole:
    """An answer in one piece."""

    def __init__(self, sink: Sink, call: Call, request: ChatRequest, callers: Dialect, servers: Dialect) -> None:
        self._sink = sink
        self._call = call
        self._callers = callers
        self._servers = servers
        self._body: list[bytes] = []

    def head(self, status: int, headers: Headers) -> None:
        self._sink.head(status, _translated_head(headers))

    def frame(self, frame: Frame) -> None:
        self._body.append(frame.raw)

    def end(self, usage: Usage | None) -> None:
        call = self._call
        try:
            events = self._servers.read_whole(b"".join(self._body))
            status, body = self._callers.write_whole(events, call.model, call.id)
            if status != 200:
                raise UpstreamRefused(status, body, dialect=call.dialect)
        except AntiphonError as error:
            self._sink.fail(error)
            return
        self._sink.frame(Frame(body, dialect=call.dialect))
        self._sink.end(usage)

    def fail(self, error: AntiphonError) -> None:
        self._sink.fail(error)


class _Streamed:
    """An answer in events."""

    def __init__(self, sink: Sink, call: Call, request: ChatRequest, callers: Dialect, servers: Dialect) -> None:
        self._sink = sink
        self._dialect = call.dialect
        self._reader = servers.reader()
        self._writer = callers.writer(request, call.id)

    def head(self, status: int, headers: Headers) -> None:
        self._sink.head(status, _translated_head(headers))

    def frame(self, frame: Frame) -> None:
        self._pass_on(self._reader.feed(frame.raw), content=frame.content)

    def end(self, usage: Usage | None) -> None:
        self._pass_on(self._reader.end(), content=True)
        self._sink.end(usage)

    def fail(self, error: AntiphonError) -> None:
        self._sink.fail(error)

    def _pass_on(self, events: Sequence[Event], *, content: bool) -> None:
        raw = self._writer.write(events)
        if raw:
            self._sink.frame(Frame(raw, content, self._dialect))


def _translated_head(headers: Headers) -> Headers:
    return tuple(field for field in headers if field[0] != b"content-length")
