"""Scores from costs."""

from collections.abc import Sequence


def cheapest(costs: Sequence[float]) -> list[float]:
    """1 for the lowest cost, and for each other the share that the lowest is of it."""
    lowest = min(costs)
    return [1.0 if cost <= lowest else (lowest + 1e-9) / (cost + 1e-9) for cost in costs]
