"""A breaker board for tests."""

import itertools
from collections import Counter
from collections.abc import Mapping

from antiphon.core.breaker import Breaker
from antiphon.core.breaker_board import Admission, Listener, Permit, Refused, Then
from antiphon.core.breaker_policy import BreakerPolicy, BreakerView
from antiphon.testing.fake_clock import FakeClock


class FakeBreakerBoard:
    """Keeps true breakers under a clock that the test moves, and remembers what it was told.

    ``open`` and ``half_open`` put a breaker where the test wants it. While ``late`` is true, admissions to what is half open come
    only with ``answer``, as they do where the board is kept elsewhere.
    """

    def __init__(self, clock: FakeClock | None = None) -> None:
        self.clock = clock or FakeClock()
        self.late = False
        self.reports: list[tuple[str, bool | None]] = []
        """Targets and outcomes, in the order in which they were told."""
        self.admitted: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self._breakers: dict[str, Breaker] = {}
        self._permits: dict[str, tuple[int, Permit]] = {}
        self._waiting: list[tuple[str, BreakerPolicy, Then]] = []
        self._listeners: list[Listener] = []
        self._count = itertools.count(1).__next__

    def open(self, target: str, seconds: float = 30.0) -> None:
        """Open a breaker."""
        self.trip(target, BreakerPolicy(), seconds)

    def half_open(self, target: str) -> None:
        """Make a breaker half open."""
        self.trip(target, BreakerPolicy(), 0.0)

    def answer(self) -> None:
        """Answer the admissions that wait."""
        waiting, self._waiting = self._waiting, []
        for target, policy, then in waiting:
            then(self._decide(target, policy))

    def admit(self, target: str, policy: BreakerPolicy, then: Then) -> Admission | None:
        if self.late and self.view(target).state == "half_open":
            self._waiting.append((target, policy, then))
            return None
        return self._decide(target, policy)

    def report(self, permit: Permit, ok: bool | None) -> None:
        self.reports.append((permit.target, ok))
        breaker, now = self._breaker(permit.target), self.clock.monotonic()
        before = breaker.view(now)
        if permit.trial:
            breaker.conclude(permit.policy, permit.trial, ok, now)
        elif ok is not None and self._permits.get(permit.target, (0, None))[1] is permit:
            breaker.count(permit.policy, ok, not ok, now)
        self._tell(permit.target, before)

    def trip(self, target: str, policy: BreakerPolicy, seconds: float) -> None:
        breaker, now = self._breaker(target), self.clock.monotonic()
        before = breaker.view(now)
        breaker.trip(seconds, now)
        self._tell(target, before)

    def view(self, target: str) -> BreakerView:
        return self._breaker(target).view(self.clock.monotonic())

    def opened(self) -> Mapping[str, BreakerView]:
        views = {target: self.view(target) for target in self._breakers}
        return {target: view for target, view in views.items() if view.state != "closed"}

    def watch(self, listener: Listener) -> None:
        self._listeners.append(listener)

    def _decide(self, target: str, policy: BreakerPolicy) -> Admission:
        breaker, now = self._breaker(target), self.clock.monotonic()
        view = breaker.view(now)
        permit: Permit | None = None
        if view.state == "closed":
            permit = self._ordinary(target, policy, view.term)
        elif breaker.acquire(policy, number := self._count(), now):
            permit = Permit(target, policy, number)
        if permit is None:
            self.refused[target] += 1
            return Refused(target, view.state, breaker.retry_after(now))
        self.admitted[target] += 1
        return permit

    def _ordinary(self, target: str, policy: BreakerPolicy, term: int) -> Permit:
        known = self._permits.get(target)
        if known is None or known[0] != term or known[1].policy != policy:
            known = self._permits[target] = (term, Permit(target, policy))
        return known[1]

    def _breaker(self, target: str) -> Breaker:
        return self._breakers.setdefault(target, Breaker())

    def _tell(self, target: str, before: BreakerView) -> None:
        view = self.view(target)
        if view.term != before.term:
            self._permits.pop(target, None)
            for listener in self._listeners:
                listener(target, view)
