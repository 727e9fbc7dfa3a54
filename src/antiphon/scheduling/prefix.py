"""Which replica has which prompt prefixes in its KV cache, as far as can be told from what was sent to it.

A prefix is a chain of block hashes, each of which stands for all text up to its end. Of each replica the blocks it was sent last
are believed to be there, as many as its cache holds. A block leaves before those that it builds on, so what is known of a chain
is always its beginning, and how much of it is there is found by bisection.
"""

from collections import OrderedDict
from collections.abc import Sequence


class PrefixIndex:
    """The blocks believed to be at one replica."""

    __slots__ = ("_blocks", "_capacity")

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._blocks: OrderedDict[int, None] = OrderedDict()

    def hits(self, blocks: Sequence[int]) -> int:
        """Leading blocks of a prompt that are there."""
        known = self._blocks
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

    def sent(self, blocks: Sequence[int]) -> None:
        """A prompt of these blocks went there."""
        known = self._blocks
        for block in reversed(blocks):
            known[block] = None
            known.move_to_end(block)
        while len(known) > self._capacity:
            known.popitem(last=False)

    def clear(self) -> None:
        """The replica has started anew."""
        self._blocks.clear()
