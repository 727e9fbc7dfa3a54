"""Scores from costs."""

from collections.abc import Sequence
from typing import Final

UNKNOWN: Final = 1e-6
"""Seconds that a token of work counts for besides what is known of its speed: where nothing is known, the least work is best."""


def cheapest(costs: Sequence[float]) -> list[float]:
    """1 for the lowest cost, and for each other the share that the lowest is of it."""
    lowest = min(costs)
    return [1.0 if cost <= lowest else (lowest + 1e-9) / (cost + 1e-9) for cost in costs]
