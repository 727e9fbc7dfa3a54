"""What every target under test shares."""

import random
from collections.abc import Sequence
from typing import Protocol


class Finding(AssertionError):
    """An input that broke a promise."""


class Target(Protocol):
    """A part under test, fed from memory."""

    @property
    def name(self) -> str: ...

    @property
    def seeds(self) -> Sequence[bytes]:
        """Inputs to begin with."""

    @property
    def words(self) -> Sequence[bytes]:
        """What mutations put in."""

    def run(self, data: bytes, pieces: list[bytes], rng: random.Random) -> None:
        """Feed it, whole and in pieces. Raises Finding, or anything else that escaped."""

    def left_over(self) -> int:
        """Connections and bytes that outlive their inputs; 0 is right."""


def same(what: str, one: object, other: object) -> None:
    """Raise Finding where the two differ."""
    if one != other:
        raise Finding(f"{what}: {one!r} is not {other!r}")
