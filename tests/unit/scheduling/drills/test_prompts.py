"""Recorded calls as text: what replicas read in it, and what a shared cache would have had."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.dispatch.describe import prefix_blocks
from benchmarks.scheduler.drills.prompts import BLOCK_BYTES, BLOCK_TOKENS, Prompt, block_text, read_prompt, shared_hit_rate

blocks = st.lists(st.integers(0, 10**6), max_size=6, unique=True).map(tuple)


@given(blocks, st.integers(0, 600), st.integers(1, 5000))
def test_a_replica_reads_what_was_asked(prefix: tuple[int, ...], more: int, answer: int) -> None:
    prompt = Prompt(len(prefix) * BLOCK_TOKENS + more, answer, prefix, own=7)
    assert read_prompt(prompt.body()) == msgspec.structs.replace(prompt, own=0)


def test_a_text_without_a_mark_is_no_prompt() -> None:
    assert read_prompt(b'{"messages": [{"content": "[[hello]]"}]}') is None


@given(blocks, blocks, blocks)
def test_prompts_have_as_many_blocks_in_common_as_they_were_recorded_with(
    common: tuple[int, ...], one: tuple[int, ...], other: tuple[int, ...]
) -> None:
    first, second = ((*common, *(2_000_000 + block for block in one)), (*common, *(4_000_000 + block for block in other)))
    texts = ["".join(map(block_text, each)) for each in (first, second)]
    same = next((place for place, pair in enumerate(zip(*texts, strict=False)) if pair[0] != pair[1]), min(map(len, texts)))
    assert len(common) * BLOCK_BYTES <= same < len(common) * BLOCK_BYTES + 16


def test_a_gateway_finds_the_blocks_in_the_body() -> None:
    bodies = [Prompt(6 * BLOCK_TOKENS, 1, (1, 2, 3, 4, last, last + 1)).body() for last in (5, 6)]
    first, second = map(prefix_blocks, bodies)
    assert first[:4] == second[:4]
    assert first[5] != second[5]


def test_blocks_are_four_bytes_a_token() -> None:
    assert len(block_text(3)) == 4 * BLOCK_TOKENS
    assert block_text(3) != block_text(4)


def test_a_shared_cache_keeps_what_was_used_last() -> None:
    def ask(*wanted: int) -> Prompt:
        return Prompt(len(wanted) * BLOCK_TOKENS + 10, 1, wanted)

    assert shared_hit_rate([ask(1, 2), ask(1, 2)], 2) == pytest.approx(0.5 * 1024 / 1034)
    assert shared_hit_rate([ask(1, 2), ask(3), ask(1, 2)], 2) == pytest.approx(512 / (1034 + 522 + 1034)), (
        "the end went, not the begin"
    )
    assert shared_hit_rate([ask(1, 2), ask(3, 4), ask(1, 2)], 2) == 0.0
    assert shared_hit_rate([], 2) == 0.0
