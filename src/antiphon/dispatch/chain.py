"""Asks several models in turn until one begins to answer."""

from collections.abc import Callable, Sequence
from typing import Final

from antiphon.core.errors import AntiphonError, CapacityError, UpstreamError, UpstreamRefused
from antiphon.core.ports import Handle, Model, Sink
from antiphon.core.types import Call, Usage
from antiphon.dispatch.attempt import Attempt

_WORTH_ANOTHER: Final = frozenset((401, 402, 403, 404, 408, 425, 429))
"""Statuses below 500 that say something of the server, not of the call."""


def may_fall_back(error: AntiphonError) -> bool:
    """Whether another model may do better. A call that is wrong in itself is wrong everywhere."""
    if isinstance(error, UpstreamRefused):
        return error.status >= 500 or error.status in _WORTH_ANOTHER
    return isinstance(error, UpstreamError | CapacityError)


class Chain:
    """A Model that asks its members in order.

    It holds the head back until the first content: up to this commit point a failure goes on to the next member, behind it the
    failure is the caller's to see. Each member is asked once. ``falls_back`` says of a failure whether it goes on.
    """

    def __init__(self, name: str, members: Sequence[Model], falls_back: Callable[[AntiphonError], bool] = may_fall_back) -> None:
        self._name = name
        self._members = tuple(members)
        self._falls_back = falls_back

    @property
    def name(self) -> str:
        return self._name

    @property
    def members(self) -> tuple[Model, ...]:
        return self._members

    def start(self, call: Call, sink: Sink) -> Handle:
        if len(self._members) == 1 and not call.stream:
            return self._members[0].start(call, sink)  # nobody to fall back on, and no head that could go out too early
        run = _Run(self._members, self._falls_back, call, sink)
        run.go_on()
        return run


class _Run:
    """One call on its way along a chain: it asks one member after the other, and is the handle of the caller."""

    __slots__ = ("_asking", "_at", "_attempt", "_call", "_failed", "_falls_back", "_members", "_over", "_paused", "_sink")

    def __init__(self, members: tuple[Model, ...], falls_back: Callable[[AntiphonError], bool], call: Call, sink: Sink) -> None:
        self._members = members
        self._falls_back = falls_back
        self._call = call
        self._sink = sink
        self._at = 0
        self._attempt: Attempt | None = None
        self._asking = False
        self._failed = False
        self._over = False
        self._paused = False

    def go_on(self) -> None:
        """Ask members until one has begun without failing at once. A loop, so that many dead members do not recurse."""
        self._asking = True
        while self._may_ask():
            self._failed = False
            attempt = self._attempt = Attempt(self, self._at)
            self._at += 1
            if self._paused:
                attempt.pause()
            attempt.start(self._members[attempt.number], self._call)
            if not self._failed:
                break
        self._asking = False

    def _may_ask(self) -> bool:
        return not self._over and self._at < len(self._members)

    # -- asker of the members

    def began(self, attempt: Attempt) -> Sink | None:
        del attempt
        return self._sink

    def ended(self, attempt: Attempt, usage: Usage | None) -> None:
        del attempt
        self._over = True
        self._attempt = None
        self._sink.end(usage)

    def failed(self, attempt: Attempt, error: AntiphonError) -> None:
        if attempt.begun or self._at >= len(self._members) or not self._falls_back(error):
            self._over = True
            self._attempt = None
            self._sink.fail(error)
            return
        self._failed = True
        if not self._asking:
            self.go_on()

    # -- handle of the caller

    def cancel(self, reason: str) -> None:
        self._over = True
        attempt, self._attempt = self._attempt, None
        if attempt is not None:
            attempt.cancel(reason)

    def pause(self) -> None:
        self._paused = True
        if self._attempt is not None:
            self._attempt.pause()

    def resume(self) -> None:
        self._paused = False
        if self._attempt is not None:
            self._attempt.resume()
