"""Looks into a cache that is elsewhere: each is answered once, at the latest when its time is over, and counted."""

import asyncio
from typing import Final

from antiphon.core.cache_store import UNAVAILABLE, CacheStats, Found, Then

TIMEOUT: Final = 0.25
"""Seconds that a look may take; a call does not wait longer for what it may do without."""

MAX_WAITING: Final = 2_000
"""Operations under way; one more is not done, and counted as an error."""


class CacheCounts:
    """What happened since the process began."""

    __slots__ = ("errors", "evictions", "hits", "misses", "refused")

    def __init__(self) -> None:
        self.hits = self.misses = self.evictions = self.refused = self.errors = 0

    def stats(self, entries: int = 0, size: int = 0) -> CacheStats:
        """As the port tells them."""
        return CacheStats(self.hits, self.misses, self.evictions, self.refused, self.errors, entries, size)


class Lookup:
    """One look. Make it on the running loop."""

    __slots__ = ("_counts", "_then", "_timer")

    def __init__(self, then: Then, counts: CacheCounts, timeout: float) -> None:
        self._then: Then | None = then
        self._counts = counts
        self._timer = asyncio.get_running_loop().call_later(timeout, self.answer, UNAVAILABLE)

    def answer(self, found: Found) -> None:
        """Pass on what was found, unless that comes too late."""
        then, self._then = self._then, None
        if then is None:
            return
        self._timer.cancel()
        count(self._counts, found)
        then(found)


def count(counts: CacheCounts, found: Found) -> Found:
    """Count what was found."""
    if isinstance(found, bytes):
        counts.hits += 1
    else:
        counts.misses += 1
        counts.errors += found is UNAVAILABLE
    return found
