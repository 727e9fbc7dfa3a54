"""Looks for cycles of garbage when the memory of a process has grown: a bound for what should not be there at all."""

import gc
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from antiphon.transport.deadlines import DeadlineWheel, Timed

GROWTH: Final = 256 << 20
"""Bytes by which a process may grow between two looks. A look takes milliseconds, in which no call is served."""

THRESHOLD: Final = 50_000
"""Allocations between two looks of Python itself: calls leave no cycles, and a look costs more the more there is to look at."""

PERIOD: Final = 1.0
"""Seconds between two readings of the memory."""

_STATM: Final = Path("/proc/self/statm")


def collect_seldom() -> None:
    """Leave what is there now out of all looks, and look seldom."""
    gc.freeze()
    gc.set_threshold(THRESHOLD)


def resident() -> int:
    """Bytes of memory that this process has; where the system does not tell, the most that it ever had."""
    try:
        return int(_STATM.read_text().split()[1]) * resource.getpagesize()
    except OSError:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most << 10


class CycleWatch(Timed):
    """Runs the collector of cycles each time that the memory has grown by ``growth``. Calls leave none; what does is bounded."""

    __slots__ = ("_collect", "_growth", "_least", "_resident", "_wheel")

    def __init__(
        self,
        wheel: DeadlineWheel,
        growth: int = GROWTH,
        resident: Callable[[], int] = resident,
        collect: Callable[[], object] = gc.collect,
    ) -> None:
        super().__init__()
        self._wheel = wheel
        self._growth = growth
        self._resident = resident
        self._collect = collect
        self._least = resident()
        wheel.set(self, PERIOD)

    def expired(self) -> None:
        """Timed: compare with the least memory since the last look."""
        now = self._resident()
        if now - self._least >= self._growth:
            self._collect()
            now = self._least = self._resident()
        self._least = min(self._least, now)
        self._wheel.set(self, PERIOD)
