"""Calls as text: prompts that have as much of their beginning in common as the recorded ones had."""

import re
from collections.abc import Iterable
from functools import lru_cache

import msgspec

BLOCK_TOKENS = 512
BYTES_PER_TOKEN = 4
BLOCK_BYTES = BLOCK_TOKENS * BYTES_PER_TOKEN
MODEL = "drill-model"
LONGEST = 1024
"""Tokens that a caller takes at most, unless its recorded answer is longer."""

_MARK = re.compile(rb"\[\[(\d+) (\d+)((?: \d+)*)\]\]")
_SPREAD = 0x9E3779B97F4A7C15
"""Odd, so that different numbers have different texts (Knuth's multiplicative hash, TAOCP 6.4)."""


class Prompt(msgspec.Struct, frozen=True):
    """What is asked of a replica."""

    tokens: int
    answer_tokens: int
    blocks: tuple[int, ...] = ()
    """Hashes of its full prefix blocks, of ``BLOCK_TOKENS`` tokens each."""
    own: int = 0
    """Number of the text behind its blocks, which no other prompt has."""

    def text(self) -> str:
        """Four characters a token. The end says in brackets what a replica has to know: tokens, answer's tokens, blocks."""
        rest = max(0, self.tokens - len(self.blocks) * BLOCK_TOKENS) * BYTES_PER_TOKEN
        mark = f"[[{self.tokens} {self.answer_tokens}{''.join(f' {block}' for block in self.blocks)}]]"
        return "".join(map(block_text, self.blocks)) + _words(-1 - self.own, rest) + mark

    def body(self, **more: object) -> bytes:
        """A streamed chat completion."""
        request = {
            "model": MODEL,
            "messages": [{"role": "user", "content": self.text()}],
            "stream": True,
            "stream_options": {"include_usage": True},
            "max_tokens": max(LONGEST, self.answer_tokens),
            **more,
        }
        return msgspec.json.encode(request)


@lru_cache(maxsize=4096)
def block_text(block: int) -> str:
    """The text of a prefix block: the same for the same block, and from its first characters on another one for another block."""
    return _words(block, BLOCK_BYTES)


def _words(number: int, size: int) -> str:
    word = f"{(number * _SPREAD) & 0xFFFFFFFFFFFFFFFF:016x} "
    return (word * (size // len(word) + 1))[:size]


def read_prompt(body: bytes) -> Prompt | None:
    """What a body asks for, by the last mark in it; None where it has none."""
    begin = body.rfind(b"[[")
    found = _MARK.match(body, begin) if begin >= 0 else None
    if found is None:
        return None
    return Prompt(int(found[1]), int(found[2]), tuple(map(int, found[3].split())))


def shared_hit_rate(prompts: Iterable[Prompt], blocks: int) -> float:
    """Share of the prompt tokens that one cache of so many blocks would hold, which evicts what was not used for longest."""
    kept: dict[int, None] = {}
    asked = hit = 0
    for prompt in prompts:
        there = 0
        while there < len(prompt.blocks) and prompt.blocks[there] in kept:
            there += 1
        asked += prompt.tokens
        hit += min(there * BLOCK_TOKENS, prompt.tokens - 1)
        for block in reversed(prompt.blocks):  # the beginning of a prompt is the last to go
            kept.pop(block, None)
            kept[block] = None
        while len(kept) > blocks:
            del kept[next(iter(kept))]
    return hit / asked if asked else 0.0
