"""Answers that go on as they came and may be of any type: pictures, sounds, and what was heard."""

from typing import Final

from antiphon.core.errors import AntiphonError, UpstreamBroken
from antiphon.core.ports import Sink
from antiphon.core.types import Call, Frame, Headers
from antiphon.execution.executor.answer import Answer
from antiphon.execution.executor.passed import PassedStream, PassedWhole, Renamed
from antiphon.execution.providers import Provider
from antiphon.execution.wire.dialect import Passing

UNREAD: Final = Passing(lambda _: (None, None))
"""For what is no JSON: neither usage nor failure can be read from it."""


class PassedMedia(Answer):
    """An answer whose head tells how it is passed on: in events, in one piece, or piece by piece as it comes."""

    def __init__(self, sink: Sink, provider: Provider, call: Call, passing: Passing, renamed: Renamed | None) -> None:
        super().__init__(sink, provider, call)
        self._provider = provider
        self._passing = passing
        self._renamed = renamed
        self._kind: Answer | None = None

    def head(self, status: int, headers: Headers) -> None:
        self._take_head(status, headers)
        kind = self._kind = self._of_kind()
        kind.exchange = self.exchange
        kind.head(status, headers)

    def data(self, chunk: bytes) -> None:
        if self._kind is not None:
            self._kind.data(chunk)

    def complete(self) -> None:
        if self._kind is not None:
            self._kind.complete()

    def cancel(self, reason: str) -> None:
        if self._kind is not None:
            self._kind.cancel(reason)
        super().cancel(reason)

    def broken(self, error: AntiphonError) -> None:
        if self._kind is not None:
            self._kind.broken(error)
        else:
            super().broken(error)

    def _of_kind(self) -> Answer:
        sink, provider, call, passing = self._sink, self._provider, self._call, self._passing
        if passing.watch is not None and self._is_stream(passing.framing.content_type):
            return PassedStream(sink, provider, call, passing, passing.watch(False), self._renamed)
        if self._status != 200 or self._is_json():
            return PassedWhole(sink, provider, call, passing, self._renamed)
        return PassedPieces(sink, provider, call) if call.stream else PassedWhole(sink, provider, call, UNREAD, None)

    def _is_json(self) -> bool:
        kind = self._content_type.partition(b";")[0].strip().lower()
        return kind == b"application/json" or kind.endswith(b"+json")


class PassedPieces(Answer):
    """An answer that is passed on piece by piece, whatever it is made of."""

    def head(self, status: int, headers: Headers) -> None:
        self._take_head(status, headers)
        if self._encoding:
            what = f"the model's server encoded its answer as {self._encoding.decode('latin-1')}, unasked"
            self._fail(UpstreamBroken(what))
            return
        self._sink.head(status, headers)

    def data(self, chunk: bytes) -> None:
        if not self._over:
            self._sink.frame(Frame(chunk, True, self._call.dialect))

    def complete(self) -> None:
        if not self._over:
            self._over = True
            self._succeed(None)
