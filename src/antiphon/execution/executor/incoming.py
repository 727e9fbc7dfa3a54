"""How an answer comes: in one piece, or in frames."""

from antiphon.core.errors import AntiphonError, UpstreamRefused
from antiphon.core.ports import Sink
from antiphon.core.types import Call, Headers
from antiphon.execution.executor.answer import MAX_ANSWER, MAX_ERROR, Answer
from antiphon.execution.providers import Provider
from antiphon.execution.wire.dialect import Framing


class Whole(Answer):
    """An answer in one piece. It is gathered before it is passed on, so a server that dies in the middle has said nothing yet."""

    def head(self, status: int, headers: Headers) -> None:
        self._take_head(status, headers)

    def data(self, chunk: bytes) -> None:
        self._gather(chunk, MAX_ANSWER if self._status < 400 else MAX_ERROR)

    def complete(self) -> None:
        if self._over:
            return
        if self._status != 200:
            self._over = True
            self._tell(self._refused())
            return
        try:
            self._finish()
        except AntiphonError as error:
            self._over = True
            self._tell(self._inside(error) if isinstance(error, UpstreamRefused) else error)

    def _finish(self) -> None:
        """Hand the answer on. Raises UpstreamBroken for what is none, UpstreamRefused for an error that it tells."""
        raise NotImplementedError


class Stream(Answer):
    """An answer in frames."""

    def __init__(self, sink: Sink, provider: Provider, call: Call, framing: Framing) -> None:
        super().__init__(sink, provider, call)
        self._framing = framing
        self._splitter = framing.splitter()
        self._streams = False

    def head(self, status: int, headers: Headers) -> None:
        self._take_head(status, headers)
        self._streams = self._is_stream(self._framing.content_type)
        if self._streams:
            self._begin()

    def data(self, chunk: bytes) -> None:
        if self._over:
            return
        if not self._streams:
            self._gather(chunk, MAX_ERROR)
            return
        try:
            raw = self._splitter.feed(chunk)
            if raw:
                self._take(raw)
        except AntiphonError as error:
            self._break_off(error)

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
                self._take(rest + self._framing.end)
            if not self._over:
                self._finish()
        except AntiphonError as error:
            self._break_off(error)

    def _break_off(self, error: AntiphonError) -> None:
        self._fail(self._inside(error) if isinstance(error, UpstreamRefused) else error)

    def _begin(self) -> None:
        """Tell the head of a stream."""
        raise NotImplementedError

    def _take(self, raw: bytes) -> None:
        """Whole frames. Raises UpstreamBroken for what is none of the dialect, UpstreamRefused for an error that they tell."""
        raise NotImplementedError

    def _finish(self) -> None:
        """The connection is over, and the answer was not before. Raises UpstreamBroken where it was cut off."""
        raise NotImplementedError
