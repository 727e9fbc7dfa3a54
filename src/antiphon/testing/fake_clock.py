"""A clock that stands still until the test moves it."""

import heapq
from collections.abc import Callable


class FakeClock:
    """Implements ``core.ports.Clock``; time passes by ``advance`` only."""

    def __init__(self, start: float = 1_000.0, unix_time: float = 1_700_000_000.0) -> None:
        self._now = start
        self._offset = unix_time - start
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0

    def monotonic(self) -> float:
        """Seconds."""
        return self._now

    def time(self) -> float:
        """Unix time, seconds."""
        return self._now + self._offset

    def call_later(self, delay: float, callback: Callable[[], None]) -> None:
        """Call back once ``delay`` seconds have passed, inside ``advance``."""
        self._count += 1
        heapq.heappush(self._timers, (self._now + delay, self._count, callback))

    def advance(self, seconds: float) -> None:
        """Let time pass; what falls due is called in order, each at its own moment."""
        if seconds < 0:
            raise ValueError(f"time cannot run backwards: {seconds} s")
        target = self._now + seconds
        while self._timers and self._timers[0][0] <= target:
            due, _, callback = heapq.heappop(self._timers)
            self._now = max(self._now, due)
            callback()
        self._now = target
