"""When a call has waited for its first token for unusually long, compared with calls like it."""

from bisect import bisect_left
from math import inf
from typing import Final

GROWTH: Final = 1.2
CLASSES: Final = 64
FASTEST: Final = 0.001
"""Seconds of the first class."""
EDGES: Final = [FASTEST * GROWTH**place for place in range(CLASSES - 1)]
"""The longest wait of each class but the last."""
MEMORY: Final = 1000
ENOUGH: Final = 50
"""Samples below which nothing is unusual."""


class Waits:
    """Times to the first token, by the size of the prompt."""

    def __init__(self, quantile: float) -> None:
        self.quantile = quantile
        self._sizes: dict[int, _Histogram] = {}

    def saw(self, uncached_tokens: float, seconds: float) -> None:
        """A call's first token came after so long."""
        size = int(uncached_tokens).bit_length()
        histogram = self._sizes.get(size)
        if histogram is None:
            histogram = self._sizes[size] = _Histogram()
        histogram.add(seconds)

    def unusual(self, uncached_tokens: float) -> float:
        """Seconds after which such a call has waited longer than ``quantile`` of its like; infinite where too few are known."""
        histogram = self._sizes.get(int(uncached_tokens).bit_length())
        return histogram.quantile(self.quantile) if histogram is not None else inf


class _Histogram:
    __slots__ = ("_counts", "_known", "_seen", "_total")

    def __init__(self) -> None:
        self._counts = [0.0] * CLASSES
        self._total = 0.0
        self._seen = 0
        self._known = inf

    def add(self, seconds: float) -> None:
        self._counts[bisect_left(EDGES, seconds)] += 1
        self._total += 1
        self._seen += 1
        if self._seen % MEMORY == 0:
            self._counts = [count / 2 for count in self._counts]
            self._total /= 2
        if self._seen % 16 == 0:
            self._known = inf

    def quantile(self, share: float) -> float:
        if self._seen < ENOUGH:
            return inf
        if self._known == inf:
            wanted, edge = share * self._total, FASTEST
            for count in self._counts:
                wanted -= count
                if wanted <= 0:
                    break
                edge *= GROWTH
            self._known = edge
        return self._known
