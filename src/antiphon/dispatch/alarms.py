"""Wakes the desks of a worker when something of theirs is due."""

from collections.abc import Callable
from math import inf
from typing import Protocol

from antiphon.core.ports import Clock


class Sleeper(Protocol):
    """Somebody who can be woken."""

    def tick(self) -> None:
        """Time has passed."""


class Timer(Protocol):
    """What a loop gives back for something to be called later."""

    def cancel(self) -> None: ...


CallLater = Callable[[float, Callable[[], None]], Timer]


class Alarms:
    """One alarm for each desk, on any loop's ``call_later``. Waking a desk too early does no harm."""

    def __init__(self, clock: Clock, call_later: CallLater) -> None:
        self._clock = clock
        self._call_later = call_later
        self._due: dict[Sleeper, tuple[float, Timer]] = {}

    def at(self, when: float, sleeper: Sleeper) -> None:
        """Wake it at that moment of the clock, or sooner; infinite never."""
        if when == inf:
            return
        set_to = self._due.get(sleeper)
        if set_to is not None:
            if set_to[0] <= when:
                return
            set_to[1].cancel()
        delay = max(0.0, when - self._clock.monotonic())
        self._due[sleeper] = (when, self._call_later(delay, lambda: self._ring(sleeper)))

    def close(self) -> None:
        """Wake nobody any more."""
        for _, timer in self._due.values():
            timer.cancel()
        self._due.clear()

    def _ring(self, sleeper: Sleeper) -> None:
        del self._due[sleeper]
        sleeper.tick()
