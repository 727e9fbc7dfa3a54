"""Answers in one piece of servers that do nothing but stream: the stream is read to its end, and written as what it adds up to."""

from antiphon.core.errors import UpstreamBroken
from antiphon.core.ports import Sink
from antiphon.core.types import Call
from antiphon.execution.executor.answer import MAX_ANSWER
from antiphon.execution.executor.incoming import Stream
from antiphon.execution.executor.translated import with_type
from antiphon.execution.executor.translation import StreamTranslation
from antiphon.execution.providers import Provider
from antiphon.execution.wire.chat_answer import Event


class GatheredStream(Stream):
    """An answer that comes in frames and goes on in one piece."""

    def __init__(self, sink: Sink, provider: Provider, call: Call, translation: StreamTranslation) -> None:
        super().__init__(sink, provider, call, translation.outbound.framing)
        self._reader = translation.outbound.reader()
        self._write = translation.write_whole
        self._events: list[Event] = []

    def _begin(self) -> None:
        """Nothing is told before the answer is whole."""

    def data(self, chunk: bytes) -> None:
        if self._streams and not self._over:
            self._size += len(chunk)
            if self._size > MAX_ANSWER:
                self._fail(UpstreamBroken(f"the model's server sent an answer of more than {MAX_ANSWER >> 20} MiB"))
                return
        super().data(chunk)

    def _take(self, raw: bytes) -> None:
        self._events += self._reader.feed(raw)

    def _finish(self) -> None:
        usage, body = self._write([*self._events, *self._reader.end()])
        self._deliver(with_type(self._headers, b"application/json"), body, usage)
