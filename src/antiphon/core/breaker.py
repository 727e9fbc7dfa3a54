"""A circuit breaker as a pure machine: time and outcomes come in, decisions come out. It knows no clock and nobody who calls.

Closed, it counts outcomes in a rolling window and opens once enough of them failed. Open, it lets nobody pass for a while. Then it
is half open: a few trial calls decide whether it closes or opens again. (M. Nygard, Release It!, 2nd edition 2018, chapter 5.)
"""

from math import floor

from antiphon.core.breaker_policy import ALMOST, CLOSED_VIEW, FORGOTTEN_AFTER, PARTS, BreakerPolicy, BreakerState, BreakerView


class Breaker:
    """One breaker. ``now`` is any clock, in seconds, as long as it is always the same one; it never runs backwards."""

    __slots__ = ("_bad", "_good", "_length", "_permits", "_slots", "_state", "_term", "_until")

    def __init__(self, view: BreakerView = CLOSED_VIEW) -> None:
        self._state: BreakerState = view.state
        self._term = view.term
        self._until = view.until
        self._slots: dict[int, list[int]] = {}
        """Number of a part of the window to successes and failures in it."""
        self._length = 0.0
        self._permits: dict[int, float] = {}
        """Trials without a verdict, and when their lease ends."""
        self._good = self._bad = 0

    @property
    def closed(self) -> bool:
        """Whether it lets everybody pass. Time alone changes nothing of that."""
        return self._state == "closed"

    def term(self, now: float) -> int:
        """What rises with every change of its state."""
        self._pass_time(now)
        return self._term

    def view(self, now: float) -> BreakerView:
        """How it stands."""
        self._pass_time(now)
        return BreakerView(self._state, self._term, self._until)

    def count(self, policy: BreakerPolicy, successes: int, failures: int, now: float) -> None:
        """Count outcomes of calls that were no trials. Ignored unless closed: what began before says nothing of the present."""
        self._pass_time(now)
        if self._state != "closed":
            return
        length = policy.window / PARTS
        if length != self._length:
            self._slots.clear()
            self._length = length
        part = floor(now / length)
        slot = self._slots.get(part)
        if slot is None:
            self.recent(now)
            slot = self._slots[part] = [0, 0]
        slot[0] += successes
        slot[1] += failures
        if not failures:
            return
        good, bad = self.recent(now)
        if good + bad >= policy.minimum_calls and bad + ALMOST >= policy.failure_rate * (good + bad):
            self._open(now + policy.open_for)

    def recent(self, now: float) -> tuple[int, int]:
        """Successes and failures in the window; what has left it is forgotten."""
        if not self._slots:
            return 0, 0
        oldest = floor(now / self._length) - PARTS
        for part in [part for part in self._slots if part <= oldest]:
            del self._slots[part]
        return sum(good for good, _ in self._slots.values()), sum(bad for _, bad in self._slots.values())

    def acquire(self, policy: BreakerPolicy, number: int, now: float) -> bool:
        """Take a trial for the call with this number. False where it is not half open or all trials are given out."""
        self._pass_time(now)
        if self._state != "half_open":
            return False
        self._end_leases(now)
        if len(self._permits) + self._good + self._bad >= policy.trials:
            return False
        self._permits[number] = now + policy.trial_lease
        return True

    def admits(self, policy: BreakerPolicy, now: float) -> bool:
        """Whether a call may pass now: it is closed, or half open with a trial left."""
        self._pass_time(now)
        if self._state != "half_open":
            return self._state == "closed"
        self._end_leases(now)
        return len(self._permits) + self._good + self._bad < policy.trials

    def conclude(self, policy: BreakerPolicy, number: int, ok: bool | None, now: float) -> None:
        """Tell how a trial went; None gives it back. One whose period or lease is over changes nothing."""
        self._pass_time(now)
        self._end_leases(now)
        if self._permits.pop(number, None) is None or ok is None:
            return
        if ok:
            self._good += 1
        else:
            self._bad += 1
        if self._good >= policy.needed:
            self._become("closed", 0.0)
        elif self._bad > policy.trials - policy.needed:
            self._open(now + policy.open_for)

    def trip(self, seconds: float, now: float) -> None:
        """Open it for ``seconds`` whatever its own outcomes say, or longer where it is open for longer already."""
        self._pass_time(now)
        until = now + seconds
        if self._state != "open" or until > self._until:
            self._open(until)

    def restore(self, view: BreakerView) -> None:
        """Take over what somebody else knows, if that is later."""
        if view.term > self._term:
            self._become(view.state, view.until)
            self._term = view.term

    def retry_after(self, now: float) -> float:
        """Seconds after which a call may be let through."""
        if self._state == "open":
            return max(0.0, self._until - now)
        return max(0.0, min(self._permits.values(), default=now) - now)

    def idle(self, now: float) -> bool:
        """Whether it is as if it had never been."""
        self._pass_time(now)
        if self._state == "closed":
            return self.recent(now) == (0, 0)
        return self._state == "half_open" and now >= self._until + FORGOTTEN_AFTER

    def _pass_time(self, now: float) -> None:
        if self._state == "open" and now >= self._until:
            self._become("half_open", self._until)

    def _end_leases(self, now: float) -> None:
        for number in [number for number, ends in self._permits.items() if ends <= now]:
            del self._permits[number]

    def _open(self, until: float) -> None:
        self._become("open", until)

    def _become(self, state: BreakerState, until: float) -> None:
        self._state, self._until = state, until
        self._term += 1
        self._slots.clear()
        self._permits.clear()
        self._good = self._bad = 0
