"""Calls back soon: many wishes, one call."""

import asyncio
from collections.abc import Callable


class Alarm:
    """Calls ``ring`` once for all wishes since the last time, when the first of them is due. Make it on the running loop."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._loop = asyncio.get_running_loop()
        self._soon = False
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0

    def set(self, delay: float) -> None:
        """Ring within ``delay`` seconds; 0 means once what runs now is over."""
        if self._soon:
            return
        if delay <= 0.0:
            self._soon = True
            self._loop.call_soon(self._call)
            return
        due = self._loop.time() + delay
        if self._timer is None or due < self._due:
            self.cancel()
            self._due, self._timer = due, self._loop.call_later(delay, self._call)

    def cancel(self) -> None:
        """Forget what was to ring after a delay."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _call(self) -> None:
        self._soon = False
        self.cancel()
        self._ring()
