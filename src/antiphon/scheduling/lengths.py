"""How long answers are: learned from those that were given."""

from bisect import bisect_left
from collections.abc import Hashable
from math import inf
from typing import Final

GROWTH: Final = 1.25
"""Ratio of neighbouring classes of length."""
CLASSES: Final = 48
MEMORY: Final = 2000.0
"""Answers after which an older one counts for half or less."""
EDGES: Final = [GROWTH**place for place in range(CLASSES - 1)]
"""The longest answer of each class but the last."""
PRIOR: Final = 64.0
"""Tokens that an answer is taken to have before any was seen."""


class Lengths:
    """Distributions of answer lengths, one for each kind of call (a tenant, an application, a model) and one over all."""

    def __init__(self) -> None:
        self._kinds: dict[Hashable, _Distribution] = {}
        self._all = _Distribution()

    def learn(self, kind: Hashable, tokens: int) -> None:
        """Note the length of a finished answer."""
        self._all.add(tokens)
        distribution = self._kinds.get(kind)
        if distribution is None:
            distribution = self._kinds[kind] = _Distribution()
        distribution.add(tokens)

    def expected(self, kind: Hashable, at_most: float) -> float:
        """Mean length, in tokens, of answers of that kind that are no longer than ``at_most``."""
        distribution = self._kinds.get(kind)
        if distribution is None or distribution.seen < CLASSES:
            distribution = self._all
        return distribution.mean(at_most) if distribution.seen >= CLASSES else max(1.0, min(PRIOR, at_most))


class _Distribution:
    """A histogram over classes of length that forgets slowly."""

    __slots__ = ("_means", "_stale", "_sums", "_weights", "seen")

    def __init__(self) -> None:
        self.seen = 0
        self._weights = [0.0] * CLASSES
        self._sums = [0.0] * CLASSES
        self._means: list[float] = []
        self._stale = 0

    def add(self, tokens: int) -> None:
        place = _class_of(tokens)
        self._weights[place] += 1.0
        self._sums[place] += tokens
        self.seen += 1
        if self.seen % int(MEMORY) == 0:
            self._weights = [weight / 2 for weight in self._weights]
            self._sums = [total / 2 for total in self._sums]
        self._stale += 1

    def mean(self, at_most: float) -> float:
        if not self._means or self._stale > 32:
            self._count_up()
        mean = self._means[CLASSES - 1 if at_most == inf else _class_of(at_most)]
        return max(1.0, min(mean, at_most))

    def _count_up(self) -> None:
        """Means of everything up to each class."""
        weight = total = 0.0
        self._means = []
        for place in range(CLASSES):
            weight += self._weights[place]
            total += self._sums[place]
            self._means.append(total / weight if weight else GROWTH**place)
        self._stale = 0


def _class_of(tokens: float) -> int:
    return bisect_left(EDGES, tokens)
