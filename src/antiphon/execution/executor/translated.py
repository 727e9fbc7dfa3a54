"""Answers of servers that speak another dialect than the caller: read into events of no vendor, and written from them."""

from collections.abc import Callable, Sequence

from antiphon.core.errors import AntiphonError, UpstreamBroken, UpstreamRefused
from antiphon.core.ports import Sink
from antiphon.core.types import Call, Frame, Headers, Usage
from antiphon.execution.executor.answer import MAX_ANSWER, MAX_ERROR, Answer
from antiphon.execution.executor.translation import StreamTranslation
from antiphon.execution.providers import Provider
from antiphon.execution.wire.chat_answer import Began, Counted, Ended, Event, Failed
from antiphon.execution.wire.said_errors import refused


class WrittenWhole(Answer):
    """An answer that goes to the caller in one piece, however it came."""

    def complete(self) -> None:
        if self._over:
            return
        self._over = True
        if self._status != 200:
            self._tell(self._refused())
            return
        try:
            usage, body = self._written()
        except UpstreamRefused as failure:
            self._tell(self._inside(failure))
            return
        except AntiphonError as error:
            self._tell(error)
            return
        self._sink.head(200, with_type(self._headers, b"application/json"))
        self._sink.frame(Frame(body, True, self._call.dialect))
        self._succeed(usage)

    def _written(self) -> tuple[Usage | None, bytes]:
        """Usage and body for the caller. Raises UpstreamBroken or UpstreamRefused."""
        raise NotImplementedError


class TranslatedWhole(WrittenWhole):
    """An answer that comes in one piece."""

    def __init__(self, sink: Sink, provider: Provider, call: Call, read: Callable[[bytes], tuple[Usage | None, bytes]]) -> None:
        super().__init__(sink, provider, call)
        self._read = read

    def head(self, status: int, headers: Headers) -> None:
        self._take_head(status, headers)

    def data(self, chunk: bytes) -> None:
        self._gather(chunk, MAX_ANSWER if self._status < 400 else MAX_ERROR)

    def _written(self) -> tuple[Usage | None, bytes]:
        if self._encoding:
            raise UpstreamBroken(f"the model's server encoded its answer as {self._encoding.decode('latin-1')}, unasked")
        return self._read(self._gathered())


class TranslatedStream(Answer):
    """An answer in frames."""

    def __init__(self, sink: Sink, provider: Provider, call: Call, translation: StreamTranslation) -> None:
        super().__init__(sink, provider, call)
        self._framing = translation.outbound.framing
        self._splitter = translation.outbound.framing.splitter()
        self._reader = translation.outbound.reader()
        self._writer = translation.inbound.writer(translation.request, call.id)
        self._stream_type = translation.inbound.stream_type
        self._streams = False
        self._begun = False
        self._ended = False
        self._failed: Failed | None = None
        self._usage: Usage | None = None

    def head(self, status: int, headers: Headers) -> None:
        self._take_head(status, headers)
        self._streams = self._is_stream(self._framing.content_type)
        if self._streams:
            self._sink.head(status, with_type(headers, self._stream_type))

    def data(self, chunk: bytes) -> None:
        if self._over:
            return
        if not self._streams:
            self._gather(chunk, MAX_ERROR)
            return
        try:
            raw = self._splitter.feed(chunk)
            if raw:
                self._pass_on(self._reader.feed(raw))
        except AntiphonError as error:
            self._fail(error)

    def complete(self) -> None:
        if self._over:
            return
        if not self._streams:
            self._over = True
            self._tell(self._no_stream())
            return
        try:
            rest = self._splitter.rest()
            if rest.strip():
                self._pass_on(self._reader.feed(rest + self._framing.end))
            if not self._over:
                self._pass_on(self._reader.end())
        except AntiphonError as error:
            self._fail(error)
            return
        if not self._over:
            self._fail(UpstreamBroken("the model's server ended its stream before its answer was complete"))

    def _pass_on(self, events: Sequence[Event]) -> None:
        """Write what came before an error, or before the end, and then tell of that."""
        written = events[: self._look_through(events)]
        raw = self._writer.write(written)
        if raw:
            self._sink.frame(Frame(raw, self._begun, self._call.dialect))
        if self._over:
            return
        if self._failed is not None:
            self._fail(self._inside(refused(self._failed)))
        elif self._ended:
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
        return len(events)


def with_type(headers: Headers, content_type: bytes) -> Headers:
    """A server's headers, for a body that is not its own."""
    kept = tuple(field for field in headers if field[0] not in (b"content-length", b"content-type"))
    return (*kept, (b"content-type", content_type))
