"""Which beginnings of prompts a KV cache holds, as far as one can tell from outside."""

from collections import OrderedDict
from collections.abc import Iterator, Sequence


class Prefixes:
    """The blocks of tokens that were computed last, each known by everything before it, least recently used ones forgotten.

    It mirrors the cache of a library that does not tell what it holds. So it may be wrong in both directions: use it to plan
    work, never to leave work out.
    """

    def __init__(self, block_tokens: int, blocks: int) -> None:
        self._block_tokens = block_tokens
        self._blocks = blocks
        self._known: OrderedDict[int, None] = OrderedDict()

    def known(self, tokens: Sequence[int]) -> int:
        """How many of the first ``tokens`` were computed, in whole blocks."""
        count = 0
        for key in self._keys(tokens):
            if key not in self._known:
                break
            self._known.move_to_end(key)
            count += self._block_tokens
        return count

    def add(self, tokens: Sequence[int]) -> None:
        """Remember the whole blocks of ``tokens`` as computed."""
        for key in self._keys(tokens):
            self._known[key] = None
            self._known.move_to_end(key)
        while len(self._known) > self._blocks:
            self._known.popitem(last=False)

    def _keys(self, tokens: Sequence[int]) -> Iterator[int]:
        key = 0
        for start in range(0, len(tokens) - self._block_tokens + 1, self._block_tokens):
            key = hash((key, tuple(tokens[start : start + self._block_tokens])))
            yield key
