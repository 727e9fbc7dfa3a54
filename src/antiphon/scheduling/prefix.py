"""Which replica has which prompt prefixes in its KV cache, as far as can be told from what was sent to it.

A prefix is a chain of block hashes, each of which stands for all text up to its end. Of each replica the blocks it was sent last
are believed to be there, as many as its cache holds. A block leaves before those that it builds on, so what is known of a chain
is always its beginning, and how much of it is there is found by bisection.
"""

from collections import OrderedDict
from collections.abc import Collection, Container, Sequence
from typing import Final

SHRINK: Final = 0.95
GROW: Final = 8
FEWEST: Final = 16
"""By how much, and how far, the number of blocks that a replica is believed to hold is corrected by what it tells."""


class Holders:
    """Which replicas hold a block: one table for the fleet, so that whoever holds a prefix is found without asking each."""

    __slots__ = ("_of",)

    def __init__(self) -> None:
        self._of: dict[int, set[int]] = {}

    def __len__(self) -> int:
        return len(self._of)

    def add(self, block: int, replica: int) -> None:
        """The replica has the block."""
        there = self._of.get(block)
        if there is None:
            self._of[block] = {replica}
        else:
            there.add(replica)

    def remove(self, block: int, replica: int) -> None:
        """The replica has it no more."""
        there = self._of[block]
        there.discard(replica)
        if not there:
            del self._of[block]

    def of(self, blocks: Sequence[int]) -> Collection[int]:
        """Those with the longest part of a prompt; empty where nobody has any."""
        known = leading(blocks, self._of)
        return self._of[blocks[known - 1]] if known else ()


class PrefixIndex:
    """The blocks believed to be at one replica."""

    __slots__ = ("_blocks", "_capacity", "_holders", "_most", "_replica", "_told")

    def __init__(self, capacity: int, holders: Holders, replica: int) -> None:
        self._most = self._capacity = capacity
        self._told = False
        self._holders = holders
        self._replica = replica
        self._blocks: OrderedDict[int, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._blocks)

    def hits(self, blocks: Sequence[int]) -> int:
        """Leading blocks of a prompt that are there."""
        return leading(blocks, self._blocks)

    def sent(self, blocks: Sequence[int]) -> None:
        """A prompt of these blocks went there."""
        known = self._blocks
        for block in reversed(blocks):
            if block in known:
                known.move_to_end(block)
            else:
                known[block] = None
                self._holders.add(block, self._replica)
        if len(known) > self._capacity:
            self._trim(self._capacity)

    def found(self, expected_tokens: float, cached_tokens: float) -> None:
        """The replica told how much of a prompt was there. Where that is less than was believed, so is what it holds.

        Afterwards the whole prompt is there, so it is only the number of blocks that is learned.
        """
        self._told = True
        if cached_tokens < 0.9 * expected_tokens:
            self._trim(max(FEWEST, int(SHRINK * len(self._blocks))))
        elif expected_tokens > 0:
            self._trim(min(self._most, self._capacity + GROW))

    def resize(self, capacity: int) -> None:
        """So many blocks fit at most; the oldest leave."""
        self._most = capacity
        self._trim(min(self._capacity, capacity) if self._told else capacity)

    def _trim(self, capacity: int) -> None:
        self._capacity = capacity
        while len(self._blocks) > capacity:
            block, _ = self._blocks.popitem(last=False)
            self._holders.remove(block, self._replica)

    def clear(self) -> None:
        """The replica has started anew."""
        for block in list(self._blocks):
            self._drop(block)

    def _drop(self, block: int) -> None:
        del self._blocks[block]
        self._holders.remove(block, self._replica)


def leading(blocks: Sequence[int], known: Container[int]) -> int:
    """How many of the first blocks are known, where none is known without those before it."""
    if not blocks or blocks[0] not in known:
        return 0
    low, high = 1, len(blocks)
    while low < high:
        middle = (low + high + 1) // 2
        if blocks[middle - 1] in known:
            low = middle
        else:
            high = middle - 1
    return low
