"""Asks several models in turn until one begins to answer."""

from collections.abc import Sequence

from antiphon.core.errors import AntiphonError, CapacityError, UpstreamError, UpstreamRefused
from antiphon.core.ports import Handle, Model, Sink
from antiphon.core.types import Call, Frame, Headers, Usage

MAX_HELD = 65536
"""Bytes without content that are held back before they are passed on all the same."""

_WORTH_ANOTHER = frozenset((401, 402, 403, 404, 408, 425, 429))
"""Statuses below 500 that say something of the server, not of the call."""


def may_fall_back(error: AntiphonError) -> bool:
    """Whether another model may do better. A call that is wrong in itself is wrong everywhere."""
    if isinstance(error, UpstreamRefused):
        return error.status >= 500 or error.status in _WORTH_ANOTHER
    return isinstance(error, UpstreamError | CapacityError)


class Chain:
    """A Model that asks its members in order.

    It holds the head back until the first content: up to this commit point a failure goes on to the next member, behind it the
    failure is the caller's to see. Each member is asked once.
    """

    def __init__(self, name: str, members: Sequence[Model]) -> None:
        self._name = name
        self._members = tuple(members)

    @property
    def name(self) -> str:
        return self._name

    @property
    def members(self) -> tuple[Model, ...]:
        return self._members

    def start(self, call: Call, sink: Sink) -> Handle:
        if len(self._members) == 1 and not call.stream:
            return self._members[0].start(call, sink)  # nobody to fall back on, and no head that could go out too early
        run = _Run(self._members, call, sink)
        run.go_on()
        return run


class _Run:
    """One call on its way along a chain: sink of the member that is asked, handle of the caller."""

    __slots__ = (
        "_asking",
        "_at",
        "_call",
        "_committed",
        "_error",
        "_handle",
        "_head",
        "_held",
        "_members",
        "_over",
        "_paused",
        "_size",
        "_sink",
    )

    def __init__(self, members: tuple[Model, ...], call: Call, sink: Sink) -> None:
        self._members = members
        self._call = call
        self._sink = sink
        self._at = 0
        self._handle: Handle | None = None
        self._head: tuple[int, Headers] | None = None
        self._held: list[Frame] = []
        self._size = 0
        self._committed = False
        self._over = False
        self._asking = False
        self._paused = False
        self._error: AntiphonError | None = None

    def go_on(self) -> None:
        """Ask members until one has begun without failing at once. A loop, so that many dead members do not recurse."""
        while self._may_ask():
            member = self._next()
            self._asking = True
            handle = member.start(self._call, self)
            self._asking = False
            if self._over:
                handle.cancel("cancelled while it began")
                return
            if self._error is None:
                self._handle = handle
                if self._paused:
                    handle.pause()
                return

    def _may_ask(self) -> bool:
        return not self._over and self._at < len(self._members)

    def _next(self) -> Model:
        """The next member, what the last one said forgotten."""
        member = self._members[self._at]
        self._at += 1
        self._head, self._error, self._size = None, None, 0
        self._held.clear()
        return member

    # -- sink of the member

    def head(self, status: int, headers: Headers) -> None:
        self._head = (status, headers)

    def frame(self, frame: Frame) -> None:
        if self._committed:
            self._sink.frame(frame)
            return
        self._held.append(frame)
        self._size += len(frame.raw)
        if frame.content or self._size > MAX_HELD:
            self._commit()

    def end(self, usage: Usage | None) -> None:
        if self._over:
            return
        if not self._committed:
            self._commit()
        self._over = True
        self._handle = None
        self._sink.end(usage)

    def fail(self, error: AntiphonError) -> None:
        if self._over:
            return
        if self._committed or self._at >= len(self._members) or not may_fall_back(error):
            self._over = True
            self._handle = None
            self._sink.fail(error)
            return
        error.forget_origin()
        self._error = error
        if not self._asking:
            self._handle = None
            self.go_on()

    def _commit(self) -> None:
        self._committed = True
        if self._head is not None:
            self._sink.head(*self._head)
        for frame in self._held:
            self._sink.frame(frame)
        self._held.clear()

    # -- handle of the caller

    def cancel(self, reason: str) -> None:
        self._over = True
        handle, self._handle = self._handle, None
        if handle is not None:
            handle.cancel(reason)

    def pause(self) -> None:
        self._paused = True
        if self._handle is not None:
            self._handle.pause()

    def resume(self) -> None:
        self._paused = False
        if self._handle is not None:
            self._handle.resume()
