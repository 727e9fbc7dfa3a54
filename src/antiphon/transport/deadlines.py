"""Time-outs for thousands of connections at the price of one attribute write each."""

import asyncio
import math
from typing import Final

TICK: Final = 0.1
"""Seconds between two looks at the clock; a time-out fires at most this much early, or twice as much late."""

MOST: Final = 2 * TICK
"""Seconds that count between two looks, at most. A loop that was held up for longer has not read what came meanwhile."""


class Timed:
    """Something with a deadline. ``expired`` is called once the deadline has passed."""

    __slots__ = ("_due", "deadline")

    def __init__(self) -> None:
        self.deadline = math.inf
        self._due = math.inf

    def expired(self) -> None:
        raise NotImplementedError


class DeadlineWheel:
    """Buckets of deadlines, looked at every ``TICK`` seconds.

    Putting a deadline off costs nothing: an item stays in its bucket and moves on when the bucket comes up. So a connection that
    serves a thousand calls a second is touched once per time-out, not once per call.

    Its time stands still while the loop is held up: nobody is silent because we did not listen.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._buckets: dict[int, list[Timed]] = {}
        self._next = 0
        self._running = False
        self._looked = self.now = loop.time()
        """Seconds on the wheel's clock, at most ``TICK`` old while it turns: reading the loop's would cost more than all else."""

    def set(self, item: Timed, seconds: float) -> None:
        """Let ``item`` expire in ``seconds`` from now; ``math.inf`` takes its deadline away."""
        if not self._running:
            self._looked = self.now = self._loop.time()
        item.deadline = deadline = self.now + seconds
        if deadline < item._due:
            self._put(item, deadline)

    def _put(self, item: Timed, deadline: float) -> None:
        slot = int(deadline / TICK) + 1
        item._due = (slot - 1) * TICK
        self._buckets.setdefault(slot, []).append(item)
        if not self._running:
            self._running = True
            self._next = int(self.now / TICK)
            self._loop.call_later(TICK, self._tick)
        self._next = min(self._next, slot)

    def _tick(self) -> None:
        looked, self._looked = self._looked, self._loop.time()
        self.now = now = self.now + min(self._looked - looked, MOST)
        last = int(now / TICK)
        while self._next <= last:
            for item in self._buckets.pop(self._next, ()):
                if item._due != (self._next - 1) * TICK:
                    continue  # this item was moved to an earlier bucket, and from there onwards
                item._due = math.inf
                if item.deadline <= now:
                    item.deadline = math.inf
                    item.expired()
                elif item.deadline < math.inf:
                    self._put(item, item.deadline)
            self._next += 1
        if self._buckets:
            self._loop.call_later(TICK, self._tick)
        else:
            self._running = False
