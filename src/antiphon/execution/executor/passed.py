"""Answers that go on as they came, because the caller speaks the server's dialect: only the model's name is put right."""

import msgspec

from antiphon.core.errors import AntiphonError, UpstreamBroken
from antiphon.core.ports import Sink
from antiphon.core.types import Call, Frame, Headers
from antiphon.execution.executor.answer import MAX_ANSWER, MAX_ERROR, Answer
from antiphon.execution.providers import Provider
from antiphon.execution.wire.dialect import Passing, StreamWatch
from antiphon.execution.wire.reading import UNREADABLE, encode

Renamed = tuple[str, str]
"""The server's name for the model, and the caller's."""


class PassedWhole(Answer):
    """An answer in one piece. It is gathered before it is passed on, so a server that dies in the middle has said nothing yet."""

    def __init__(self, sink: Sink, provider: Provider, call: Call, passing: Passing, renamed: Renamed | None) -> None:
        super().__init__(sink, provider, call)
        self._dialect = call.dialect
        self._passing = passing
        self._spellings = spellings(*renamed) if renamed else None

    def head(self, status: int, headers: Headers) -> None:
        self._take_head(status, headers)

    def data(self, chunk: bytes) -> None:
        self._gather(chunk, MAX_ANSWER if self._status < 400 else MAX_ERROR)

    def complete(self) -> None:
        if self._over:
            return
        self._over = True
        if self._status != 200:
            self._tell(self._refused())
            return
        body = self._gathered()
        try:
            if self._encoding:
                raise msgspec.DecodeError(f"it is encoded as {self._encoding.decode('latin-1')}, which was not asked for")
            usage, failure = self._passing.read_answer(body)
        except UNREADABLE as unreadable:
            self._tell(UpstreamBroken(f"the model's server sent what is not a whole JSON object: {unreadable}"))
            return
        if failure is not None:
            self._tell(self._inside(failure))
            return
        if self._spellings is not None:
            body = renamed_in(body, self._spellings)
        self._sink.head(200, self._headers)
        self._sink.frame(Frame(body, True, self._call.dialect))
        self._succeed(usage)


class PassedStream(Answer):
    """An answer in frames, each passed on once it is whole."""

    def __init__(
        self, sink: Sink, provider: Provider, call: Call, passing: Passing, watch: StreamWatch, renamed: Renamed | None
    ) -> None:
        super().__init__(sink, provider, call)
        self._dialect = call.dialect
        self._watch = watch
        self._decode = passing.decode
        self._framing = passing.framing
        self._splitter = passing.framing.splitter()
        self._streams = False
        self._spellings = spellings(*renamed) if renamed else None

    def head(self, status: int, headers: Headers) -> None:
        self._take_head(status, headers)
        self._streams = self._is_stream(self._framing.content_type)
        if self._streams:
            self._sink.head(status, headers)

    def data(self, chunk: bytes) -> None:
        if self._over:
            return
        if not self._streams:
            self._gather(chunk, MAX_ERROR)
            return
        try:
            raw = self._splitter.feed(chunk)
        except AntiphonError as error:
            self._fail(error)
            return
        if raw:
            self._take(raw)

    def _take(self, raw: bytes) -> bool:
        """Whole frames: pass them on. Gives back whether the call is over."""
        watch = self._watch
        passed = watch.take(raw)
        if passed:
            self._pass_on(passed)
        if self._over:
            return True
        failure = watch.failure
        if failure is not None:
            self._fail(self._inside(failure))
        elif watch.ended:
            self._end()
        return self._over

    def _pass_on(self, raw: bytes) -> None:
        if self._spellings is not None:
            raw = renamed_in(raw, self._spellings)
        self._sink.frame(Frame(raw, self._watch.begun, self._call.dialect, self._decode))

    def _end(self) -> None:
        """The stream is complete, whatever may still come. The connection is left to its pool, which sees how it ends."""
        self._over = True
        self._succeed(self._watch.usage())

    def complete(self) -> None:
        if self._over:
            return
        if not self._streams:
            self._over = True
            self._tell(self._no_stream())
            return
        rest = self._splitter.rest()
        if rest.strip() and self._take(rest + self._framing.end):
            return
        try:
            last = self._watch.finish()
        except AntiphonError as error:
            self._fail(error)
            return
        self._sink.frame(Frame(last, True, self._call.dialect, self._decode))
        self._end()


def spellings(old: str, new: str) -> tuple[tuple[bytes, bytes], ...]:
    """The field ``model`` as servers write it, each with its replacement."""
    before, after = encode(old), encode(new)
    return ((b'"model":' + before, b'"model":' + after), (b'"model": ' + before, b'"model": ' + after))


def renamed_in(raw: bytes, names: tuple[tuple[bytes, bytes], ...]) -> bytes:
    """Put the name that the caller used where the server put its own."""
    for old, new in names:
        if old in raw:
            return raw.replace(old, new)
    return raw
