"""The breaker board: the circuit breakers of all targets, shared by all workers and, where it is kept by Redis, by all machines.

A target is a name: a replica or a model. A call asks ``admit`` before it goes there and tells ``report`` afterwards:

    closed      a permit at once, without a round trip
    open        a refusal at once, with the seconds to wait
    half open   one of the few trials that all processes share; this may take a round trip, and then the answer comes by callback

**How stale a view may be.** Successes are told within 50 ms and failures within 10 ms, in batches. An opening reaches every process
of the same coordinator with the next turn of its loop, and those that share a Redis within 100 ms and a round trip. Calls that were
admitted meanwhile go through. A process that is cut off judges by its own outcomes from the view that it had, and tells what it
knows when it is back; the later term wins. It then takes its part of the trials alone, so the bound on trials holds
as long as there are no more processes than trials.
"""

from collections.abc import Callable, Mapping
from typing import Final, Protocol

import msgspec

from antiphon.core.breaker_policy import BreakerPolicy, BreakerState, BreakerView

TOLD_WITHIN: Final = 0.05
"""Seconds after which a success has been told to whoever keeps the board."""

FAILURE_TOLD_WITHIN: Final = 0.01
"""Seconds after which a failure has been told."""


class Permit(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A call may go to its target. All but ``target`` is the board's own."""

    target: str
    policy: BreakerPolicy
    trial: int = 0
    """Number of the trial; 0 for a call that is none."""


class Refused(msgspec.Struct, frozen=True):
    """A call may not go to its target."""

    target: str
    state: BreakerState
    retry_after: float
    """Seconds after which asking again may help."""


Admission = Permit | Refused
Then = Callable[[Admission], None]
Listener = Callable[[str, BreakerView], None]


class BreakerBoard(Protocol):
    """Keeps breakers. One board belongs to one thread. No method blocks or raises."""

    def admit(self, target: str, policy: BreakerPolicy, then: Then) -> Admission | None:
        """Ask whether a call may go to a target now. The policy that was brought last is the one that holds.

        Returns the answer if it is known at once; ``then`` is not called. Else returns None, and ``then`` is called with it later,
        exactly once, within 2.5 s. Every permit is reported, also one that nobody wants any more.
        """

    def report(self, permit: Permit, ok: bool | None) -> None:
        """Tell how a call went: True, False, or None where it says nothing of the target (the caller left, nothing was sent).

        What is told of a call that began before the breaker last changed counts no longer; nor does a trial's second verdict.
        """

    def trip(self, target: str, policy: BreakerPolicy, seconds: float) -> None:
        """Open a breaker for ``seconds`` because somebody else knows better than its outcomes: an objective missed, a 429."""

    def view(self, target: str) -> BreakerView:
        """How a breaker stands as far as this process knows; ``until`` is on its monotonic clock."""

    def opened(self) -> Mapping[str, BreakerView]:
        """All that are not closed, as far as this process knows."""

    def watch(self, listener: Listener) -> None:
        """Call ``listener`` whenever a breaker opens or closes in this process's view."""
