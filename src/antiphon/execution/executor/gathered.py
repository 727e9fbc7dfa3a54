"""Answers in one piece of servers that do nothing but stream: the stream is read to its end, and written as what it adds up to."""

from antiphon.core.errors import AntiphonError, UpstreamBroken
from antiphon.core.ports import Sink
from antiphon.core.types import Call, Headers, Usage
from antiphon.execution.executor.answer import MAX_ANSWER, MAX_ERROR
from antiphon.execution.executor.translated import WrittenWhole
from antiphon.execution.executor.translation import StreamTranslation
from antiphon.execution.providers import Provider
from antiphon.execution.wire.chat_answer import Event


class GatheredStream(WrittenWhole):
    """An answer that comes in frames and goes on in one piece."""

    def __init__(self, sink: Sink, provider: Provider, call: Call, translation: StreamTranslation) -> None:
        super().__init__(sink, provider, call)
        self._framing = translation.outbound.framing
        self._splitter = translation.outbound.framing.splitter()
        self._reader = translation.outbound.reader()
        self._write = translation.write_whole
        self._events: list[Event] = []
        self._streams = False

    def head(self, status: int, headers: Headers) -> None:
        self._take_head(status, headers)
        self._streams = self._is_stream(self._framing.content_type)

    def data(self, chunk: bytes) -> None:
        if self._over:
            return
        if not self._streams:
            self._gather(chunk, MAX_ERROR)
            return
        self._size += len(chunk)
        if self._size > MAX_ANSWER:
            self._fail(UpstreamBroken(f"the model's server sent an answer of more than {MAX_ANSWER >> 20} MiB"))
            return
        try:
            raw = self._splitter.feed(chunk)
            if raw:
                self._events += self._reader.feed(raw)
        except AntiphonError as error:
            self._fail(error)

    def _written(self) -> tuple[Usage | None, bytes]:
        if not self._streams:
            raise self._no_stream()
        rest = self._splitter.rest()
        if rest.strip():
            self._events += self._reader.feed(rest + self._framing.end)
        return self._write([*self._events, *self._reader.end()])
