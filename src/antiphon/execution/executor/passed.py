"""Answers that go on as they came, because the caller speaks the server's dialect: only the model's name is put right."""

import msgspec

from antiphon.core.errors import UpstreamBroken
from antiphon.core.ports import Sink
from antiphon.core.types import Call, Frame
from antiphon.execution.executor.incoming import Stream, Whole
from antiphon.execution.providers import Provider
from antiphon.execution.wire.dialect import Passing, StreamWatch
from antiphon.execution.wire.reading import UNREADABLE, encode

Renamed = tuple[str, str]
"""The server's name for the model, and the caller's."""


class PassedWhole(Whole):
    """An answer in one piece."""

    def __init__(self, sink: Sink, provider: Provider, call: Call, passing: Passing, renamed: Renamed | None) -> None:
        super().__init__(sink, provider, call)
        self._dialect = call.dialect
        self._passing = passing
        self._spellings = spellings(*renamed) if renamed else None

    def _finish(self) -> None:
        body = self._gathered()
        try:
            if self._encoding:
                raise msgspec.DecodeError(f"it is encoded as {self._encoding.decode('latin-1')}, which was not asked for")
            usage, failure = self._passing.read_answer(body)
        except UNREADABLE as unreadable:
            raise UpstreamBroken(f"the model's server sent what is not a whole JSON object: {unreadable}") from unreadable
        if failure is not None:
            raise failure
        if self._spellings is not None:
            body = renamed_in(body, self._spellings)
        self._deliver(self._headers, body, usage)


class PassedStream(Stream):
    """An answer in frames, each passed on once it is whole."""

    def __init__(
        self, sink: Sink, provider: Provider, call: Call, passing: Passing, watch: StreamWatch, renamed: Renamed | None
    ) -> None:
        super().__init__(sink, provider, call, passing.framing)
        self._dialect = call.dialect
        self._watch = watch
        self._decode = passing.decode
        self._spellings = spellings(*renamed) if renamed else None

    def _begin(self) -> None:
        self._sink.head(200, self._headers)

    def _take(self, raw: bytes) -> None:
        watch = self._watch
        passed = watch.take(raw)
        if passed:
            self._pass_on(passed, watch.begun)
        if self._over:
            return
        failure = watch.failure
        if failure is not None:
            raise failure
        if watch.ended:
            self._end()

    def _finish(self) -> None:
        self._pass_on(self._watch.finish(), True)
        self._end()

    def _pass_on(self, raw: bytes, content: bool) -> None:
        if self._spellings is not None:
            raw = renamed_in(raw, self._spellings)
        self._sink.frame(Frame(raw, content, self._call.dialect, self._decode))

    def _end(self) -> None:
        """The stream is complete, whatever may still come. The connection is left to its pool, which sees how it ends."""
        self._over = True
        self._succeed(self._watch.usage())


def spellings(old: str, new: str) -> tuple[tuple[bytes, bytes], ...]:
    """The field ``model`` as servers write it, each with its replacement."""
    before, after = encode(old), encode(new)
    return ((b'"model":' + before, b'"model":' + after), (b'"model": ' + before, b'"model": ' + after))


def renamed_in(raw: bytes, names: tuple[tuple[bytes, bytes], ...]) -> bytes:
    """Put the name that the caller used where the server put its own, in either spelling."""
    for old, new in names:
        if old in raw:
            raw = raw.replace(old, new)
    return raw
