"""Mutations with a structure: of a corpus and of words that matter to the format, the same for the same number.

Hypothesis makes some hundred inputs of this kind a second, and a coverage-guided fuzzer sees nothing of a parser that was compiled
long ago: both cost a multiple of what they would feed, and a million inputs would take hours.
"""

import itertools
import random
from collections.abc import Callable, Sequence

MAX_BYTES = 20_000
"""An input is cut here, below the limits of the parts under test: those have tests of their own."""


class Mutator:
    """Makes the input that belongs to a number."""

    def __init__(self, corpus: Sequence[bytes], words: Sequence[bytes]) -> None:
        self._corpus = corpus
        self._words = words
        self._kinds: tuple[Callable[[random.Random, bytearray], None], ...] = (
            self._insert_word,
            self._insert_word,
            self._replace_by_word,
            self._replace_by_word,
            self._flip,
            self._set,
            self._delete,
            self._double,
            self._swap,
            self._splice,
            self._append,
            self._lines,
        )

    def make(self, rng: random.Random) -> bytes:
        """An input, mutated up to eight times; one of the corpus now and then."""
        data = bytearray(rng.choice(self._corpus))
        for _ in range(min(8, int(rng.expovariate(0.5)))):
            rng.choice(self._kinds)(rng, data)
        return bytes(data[:MAX_BYTES])

    def _insert_word(self, rng: random.Random, data: bytearray) -> None:
        at = rng.randint(0, len(data))
        data[at:at] = rng.choice(self._words)

    def _replace_by_word(self, rng: random.Random, data: bytearray) -> None:
        """Put a word where another one is, or anywhere."""
        at = data.find(rng.choice(self._words))
        at = at if at >= 0 else rng.randint(0, len(data))
        data[at : at + rng.randint(0, 8)] = rng.choice(self._words)

    def _flip(self, rng: random.Random, data: bytearray) -> None:
        if data:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)

    def _set(self, rng: random.Random, data: bytearray) -> None:
        if data:
            data[rng.randrange(len(data))] = rng.choice((0, 9, 10, 11, 13, 32, 35, 44, 58, 59, 127, 128, 255, rng.randrange(256)))

    def _delete(self, rng: random.Random, data: bytearray) -> None:
        at = rng.randint(0, len(data))
        del data[at : at + rng.choice((1, 1, 1, 2, 4, 16, 64))]

    def _double(self, rng: random.Random, data: bytearray) -> None:
        at = rng.randint(0, len(data))
        piece = data[at : at + rng.choice((1, 2, 4, 16, 64))]
        data[at:at] = piece * rng.choice((1, 1, 1, 2, 300 if len(piece) < 8 else 1))

    def _swap(self, rng: random.Random, data: bytearray) -> None:
        a, b = sorted((rng.randint(0, len(data)), rng.randint(0, len(data))))
        size = rng.choice((1, 2, 8))
        data[a : a + size], data[b : b + size] = data[b : b + size], data[a : a + size]

    def _splice(self, rng: random.Random, data: bytearray) -> None:
        """The beginning of this one and the end of another."""
        other = rng.choice(self._corpus)
        data[rng.randint(0, len(data)) :] = other[rng.randint(0, len(other)) :]

    def _append(self, rng: random.Random, data: bytearray) -> None:
        data += rng.choice(self._corpus)

    def _lines(self, rng: random.Random, data: bytearray) -> None:
        """Move a line elsewhere, or write it twice."""
        lines = bytes(data).split(b"\r\n")
        line = lines[rng.randrange(len(lines))]
        lines.insert(rng.randint(0, len(lines)), line)
        data[:] = b"\r\n".join(lines)


def cuts(rng: random.Random, data: bytes) -> list[bytes]:
    """The same bytes in pieces: a few, or each byte alone."""
    if rng.random() < 0.25:
        return [data[at : at + 1] for at in range(len(data))] if len(data) < 600 else [data[:1], data[1:]]
    edges = sorted({0, len(data), *(rng.randint(0, len(data)) for _ in range(rng.choice((1, 1, 2, 5))))})
    return [data[a:b] for a, b in itertools.pairwise(edges)]
