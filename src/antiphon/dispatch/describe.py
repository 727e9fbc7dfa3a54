"""What a scheduler is told of a call."""

import zlib
from collections.abc import Mapping
from math import inf
from typing import Final

from antiphon.core.types import Call
from antiphon.dispatch.promise import Promise
from antiphon.execution.executor.template import TEXTUAL
from antiphon.scheduling.job import TIERS, Job

BYTES_PER_TOKEN: Final = 4
"""Of a request's body, roughly: what a prompt is taken to have before a model has counted it."""
BLOCK_TOKENS: Final = 512
"""Tokens of a prefix block, by the same measure."""
BLOCK_BYTES: Final = BLOCK_TOKENS * BYTES_PER_TOKEN
MAX_BLOCKS: Final = 512
"""Blocks of one prompt that are looked at."""
MAX_OUTPUT: Final = 16_384
"""Tokens that the answer of a call that names no bound may have."""
_TURNS: Final = (b'"messages"', b'"input"', b'"contents"', b'"prompt"')


class Describer:
    """Puts calls into the scheduler's words. ``tiers`` says whose calls have a tier of their own."""

    def __init__(
        self, tier: int, promises: tuple[Promise, ...], tiers: Mapping[str, int], *, realtime: bool = False, prefixes: bool = False
    ) -> None:
        if len(promises) != TIERS:
            raise ValueError(f"{TIERS} promises are needed, one for each tier")
        self._tier = tier
        self._promises = promises
        self._tiers = tiers
        self._realtime = realtime
        self._prefixes = prefixes
        """Somebody looks at prefix blocks."""

    def __call__(self, call: Call, number: int, now: float) -> Job:
        wishes = call.wishes
        tier = self._tier_of(call)
        promise = self._promises[tier]
        first = wishes.first_token_within or promise.first_token_within
        whole = wishes.answer_within or promise.answer_within
        return Job(
            number,
            now,
            len(call.body) // BYTES_PER_TOKEN + 1,
            call.max_tokens or MAX_OUTPUT,
            tier,
            self._realtime if wishes.realtime is None else wishes.realtime,
            call.principal.name,
            now + whole if whole else inf,
            now + first if first and call.stream else inf,
            prefix_blocks(call.body) if self._prefixes else (),
            wishes.session,
            wishes.region,
            streams=call.stream,
            takes_text=call.endpoint in TEXTUAL,
        )

    def _tier_of(self, call: Call) -> int:
        """The tier that a call asks for, but none better than its key's."""
        own = self._tiers.get(call.principal.name)
        asked = call.wishes.tier
        if own is None:
            return self._tier if asked is None else asked
        return own if asked is None else max(own, asked)


def prefix_blocks(body: bytes) -> tuple[int, ...]:
    """Hashes of the blocks with which a prompt begins, each of them over all text up to its end; only full blocks count.

    Two turns of a conversation begin with the same bytes as long as the caller writes them alike, and that is what a model's prefix
    cache wants too. What stands before the messages (the model's name, parameters) is left out.
    """
    if len(body) < BLOCK_BYTES:
        return ()
    begin = min((place for turn in _TURNS if (place := body.find(turn, 0, BLOCK_BYTES)) >= 0), default=0)
    blocks = []
    chain = 0
    for start in range(begin, min(len(body), begin + MAX_BLOCKS * BLOCK_BYTES) - BLOCK_BYTES + 1, BLOCK_BYTES):
        chain = zlib.crc32(body[start : start + BLOCK_BYTES], chain)
        blocks.append(chain)
    return tuple(blocks)
