"""Answers of servers that speak another dialect than the caller: read into events of no vendor, and written from them."""

from collections.abc import Callable, Sequence
from typing import Final

from antiphon.core.errors import UpstreamBroken
from antiphon.core.ports import Sink
from antiphon.core.types import Call, Frame, Headers, Usage
from antiphon.execution.executor.incoming import Stream, Whole
from antiphon.execution.executor.translation import StreamTranslation
from antiphon.execution.providers import Provider
from antiphon.execution.wire.chat_answer import (
    Began,
    Counted,
    Ended,
    Event,
    Failed,
    RefusalDelta,
    TextDelta,
    ThinkingDelta,
    ToolArguments,
)
from antiphon.execution.wire.said_errors import refused

MAX_WORDS = 128 << 20
"""Characters that a streamed answer may have, since some dialects tell all of it again at its end; no model writes so many."""
PIECE: Final = 50
"""Characters that a piece counts for beside its own: what it takes in memory."""
_WORDS: Final = (TextDelta, RefusalDelta, ThinkingDelta, ToolArguments)


class TranslatedWhole(Whole):
    """An answer in one piece."""

    def __init__(self, sink: Sink, provider: Provider, call: Call, read: Callable[[bytes], tuple[Usage | None, bytes]]) -> None:
        super().__init__(sink, provider, call)
        self._read = read

    def _finish(self) -> None:
        if self._encoding:
            raise UpstreamBroken(f"the model's server encoded its answer as {self._encoding.decode('latin-1')}, unasked")
        usage, body = self._read(self._gathered())
        self._deliver(with_type(self._headers, b"application/json"), body, usage)


class TranslatedStream(Stream):
    """An answer in frames."""

    def __init__(self, sink: Sink, provider: Provider, call: Call, translation: StreamTranslation) -> None:
        super().__init__(sink, provider, call, translation.outbound.framing)
        self._reader = translation.outbound.reader()
        self._writer = translation.inbound.writer(translation.request, call.id)
        self._stream_type = translation.inbound.stream_type
        self._begun = False
        self._ended = False
        self._failed: Failed | None = None
        self._words = 0
        self._usage: Usage | None = None

    def _begin(self) -> None:
        self._sink.head(200, with_type(self._headers, self._stream_type))

    def _take(self, raw: bytes) -> None:
        self._pass_on(self._reader.feed(raw))

    def _finish(self) -> None:
        self._pass_on(self._reader.end())
        if not self._over:
            raise UpstreamBroken("the model's server ended its stream before its answer was complete")

    def _pass_on(self, events: Sequence[Event]) -> None:
        """Write what came before an error, or before the end, and then tell of that."""
        written = events[: self._look_through(events)]
        raw = self._writer.write(written)
        if raw:
            self._sink.frame(Frame(raw, self._begun, self._call.dialect))
        if self._over:
            return
        if self._failed is not None:
            raise refused(self._failed)
        if self._ended:
            self._over = True
            self._succeed(self._usage)

    def _look_through(self, events: Sequence[Event]) -> int:
        """How many of the events are written: those before an error."""
        for place, event in enumerate(events):
            if isinstance(event, Failed):
                self._failed = event
                return place
            if isinstance(event, Counted):
                self._usage = event.usage
            elif isinstance(event, Ended):
                self._ended = True
            elif not isinstance(event, Began):
                self._begun = True
                if isinstance(event, _WORDS):
                    self._words += len(event.text) + PIECE
        if self._words > MAX_WORDS:
            raise UpstreamBroken(f"the model's server sent an answer of more than {MAX_WORDS >> 20} Mi characters")
        return len(events)


def with_type(headers: Headers, content_type: bytes) -> Headers:
    """A server's headers, for a body that is not its own."""
    kept = tuple(field for field in headers if field[0] not in (b"content-length", b"content-type"))
    return (*kept, (b"content-type", content_type))
