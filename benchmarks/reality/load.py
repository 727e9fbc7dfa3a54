"""Made-up traffic for a small model: calls at random, some of whose prompts begin alike."""

from collections.abc import Iterator
from random import Random

import msgspec

from benchmarks.reality.streams import FIRST_ID, LAST_ID, Ask

PROMPTS = (96.0, 0.8, 16, 768)
"""Tokens of prompts: median and sigma of a log-normal distribution, least and most."""
ANSWERS = (32.0, 0.6, 4, 160)
"""Tokens of answers, likewise."""
SHARED = 0.3
"""Share of the calls whose prompt begins with one of ``BEGINNINGS`` texts of ``BEGINNING`` tokens; its own comes behind."""
BEGINNINGS, BEGINNING = 4, 128


class Planned(msgspec.Struct, frozen=True):
    """A call of the load."""

    at: float
    """Seconds after its beginning."""
    ask: Ask


def load(rate: float, seconds: float, seed: int) -> list[Planned]:
    """So many calls a second on the mean, in a Poisson process. The same seed gives the same load."""
    rng = Random(seed)
    beginnings = [_tokens(rng, BEGINNING) for _ in range(BEGINNINGS)]
    planned, at = [], rng.expovariate(rate)
    while at < seconds:
        shared = rng.choice(beginnings) if rng.random() < SHARED else []
        planned.append(Planned(at, Ask([*shared, *_tokens(rng, _length(rng, *PROMPTS))], _length(rng, *ANSWERS))))
        at += rng.expovariate(rate)
    return planned


class Blocks:
    """Numbers the prefix blocks of prompts: equal text up to a block's end has the same number."""

    def __init__(self, tokens: int) -> None:
        self._tokens = tokens
        self._known: dict[tuple[int, ...], int] = {}

    def of(self, prompt: list[int]) -> list[int]:
        """Of the full blocks of a prompt."""
        return list(self._numbers(tuple(prompt)))

    def _numbers(self, prompt: tuple[int, ...]) -> Iterator[int]:
        for end in range(self._tokens, len(prompt) + 1, self._tokens):
            yield self._known.setdefault(prompt[:end], len(self._known))


def _length(rng: Random, median: float, sigma: float, least: int, most: int) -> int:
    return round(min(most, max(least, median * rng.lognormvariate(0, sigma))))


def _tokens(rng: Random, count: int) -> list[int]:
    return [rng.randint(FIRST_ID, LAST_ID) for _ in range(count)]
