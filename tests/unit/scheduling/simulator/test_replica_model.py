"""The replica model jumps from change to change. It must say what a loop over every step and every block says."""

from itertools import count
from math import inf

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from antiphon.scheduling.simulator.replica import ReplicaSpec, SimulatedReplica
from tests.unit.scheduling.simulator.slow_replica import SlowReplica

SPEC = ReplicaSpec(
    prefill_rate=10_000, step_base_ms=10, step_per_sequence_ms=0.5, step_per_kilotoken_ms=2, chunk=64, block_tokens=16
)

specs = st.builds(
    ReplicaSpec,
    prefill_rate=st.sampled_from([500.0, 10_000.0]),
    step_base_ms=st.sampled_from([0.5, 10.0]),
    step_per_sequence_ms=st.sampled_from([0.0, 1.5]),
    step_per_kilotoken_ms=st.sampled_from([0.0, 30.0]),
    prefill_attention_ms=st.sampled_from([0.0, 700.0]),
    call_overhead_ms=st.sampled_from([0.0, 7.3190377]),
    steps_to_join=st.sampled_from([0, 0, 1, 4]),
    chunk=st.sampled_from([5, 16, 64]),
    max_running=st.integers(1, 4),
    kv_blocks=st.integers(1, 12),
    block_tokens=st.sampled_from([1, 4, 16]),
    prefix_cache=st.booleans(),
)
chains = st.tuples(st.integers(0, 2), st.integers(0, 20), st.integers(0, 6)).map(
    lambda drawn: tuple((drawn[0] if place < drawn[2] else 10 + drawn[1]) * 100 + place for place in range(40))
)
"""Prompts that share a beginning with others, and then go their own way."""
submits = st.tuples(st.just("submit"), st.integers(0, 120), st.integers(0, 20), chains)
cancels = st.tuples(st.just("cancel"), st.integers(0, 12), st.just(0), st.just(()))
pauses = st.sampled_from([0.0, 0.0, 0.00137103, 0.017190377, 0.05310591, 0.412739177])
"""Seconds between two events: none, or such that no step ends within a rounding error of one."""
stories = st.lists(st.tuples(pauses, st.one_of(submits, submits, cancels)), min_size=1, max_size=10)


def blocks_of(replica: SimulatedReplica) -> tuple[int, int, int]:
    """Blocks in use, blocks kept, and all that there are."""
    memory = replica._memory
    running = [*replica._prefilling, *replica._decoding.values()]
    assert memory.used == sum(sequence.own_blocks for sequence in running) + len(memory._held)
    assert all(sequence.own_blocks >= 0 for sequence in running)
    assert not memory._held.keys() & memory._kept.keys()
    assert memory._ready <= memory._held.keys()
    return memory.used, len(memory._kept), replica.spec.kv_blocks


def run_both(spec: ReplicaSpec, story: list) -> None:
    quick, slow = SimulatedReplica(spec), SlowReplica(spec)
    calls, now = count(), 0.0
    for pause, (what, prompt, output, blocks) in [*story, (inf, ("cancel", -1, 0, ()))]:
        now += pause
        told = [(word.stage, word.call, word.at, word.cached_tokens) for word in quick.advance(min(now, 1e6))]
        wanted = slow.advance(min(now, 1e6))
        assert sorted((stage, call, cached) for stage, call, _, cached in told) == sorted((s, c, k) for s, c, _, k in wanted)
        assert [at for _, _, at, _ in told] == pytest.approx([at for _, _, at, _ in wanted], rel=1e-9)
        used, kept, there = blocks_of(quick)
        assert used + kept <= there
        if what == "submit":
            call = next(calls)
            quick.submit(call, prompt, output, blocks, now)
            slow.submit(call, prompt, output, blocks, now)
        else:
            quick.cancel(prompt)
            slow.cancel(prompt, now)
        assert list(quick._memory._kept) == slow.unused
        assert (quick.running, quick.waiting) == (len(slow.prefilling) + len(slow.decoding), len(slow.coming) + len(slow.waiting))
    assert (quick.running, quick.waiting, quick.next_change()) == (0, 0, inf)
    assert quick._memory.used == 0
    assert quick.busy(1e6) == pytest.approx(slow.busy, rel=1e-9)


@settings(max_examples=150, deadline=None)
@given(specs, stories)
@example(SPEC, [(0.0, ("submit", 5000, 3, tuple(range(40)))), (0.0, ("submit", 20, 3, (0, 1)))])
def test_it_agrees_with_a_loop_over_every_step(spec, story):
    run_both(spec, story)


@given(specs, st.integers(1, 300), st.integers(1, 60))
def test_a_call_alone_takes_its_idle_time(spec, prompt, output):
    replica = SimulatedReplica(spec)
    replica.submit(1, prompt, output, (), 0.0)
    first, last = replica.advance(inf)
    assert (first.stage, last.stage) == ("first_token", "finished")
    assert first.at == pytest.approx(spec.idle_first_token(prompt))
    assert last.at == pytest.approx(spec.idle_time(prompt, output))


@given(st.lists(st.integers(0, 7), max_size=40), st.integers(1, 6))
def test_the_prefix_cache_is_a_list_of_the_longest_unused(prompts, memory):
    """One call after another: its prefix is found where a naive cache of least recently used blocks has it."""
    spec = ReplicaSpec(1000, 1, 0, chunk=1000, kv_blocks=memory, block_tokens=10)
    replica, naive, now = SimulatedReplica(spec), [], 0.0
    for number, prompt in enumerate(prompts):
        blocks = [(prompt % 2) * 100 + place for place in range(min(1 + prompt // 2, memory))]
        hits = next((place for place, block in enumerate(blocks) if block not in naive), len(blocks))
        replica.submit(number, len(blocks) * 10, 1, blocks, now)
        told = replica.advance(now + 10)
        assert told[0].cached_tokens == min(hits * 10, len(blocks) * 10 - 1)
        room = memory - min(memory, len(blocks) + 1)  # its last token needs a block, too
        naive = [block for block in naive if block not in blocks]
        naive = naive[max(0, len(naive) - room) :] + blocks[::-1]
        now += 10


def test_what_is_cancelled_says_nothing_more_and_leaves_no_blocks_that_were_not_computed():
    replica = SimulatedReplica(SPEC)
    replica.submit(1, 640, 5, tuple(range(40)), 0.0)
    assert replica.advance(0.05) == []  # three of ten chunks are done, the fourth is under way
    replica.cancel(1)
    assert replica.advance(10.0) == []
    assert (replica.running, replica.kv_usage, replica.next_change()) == (0, 0.0, inf)
    replica.submit(2, 640, 5, tuple(range(40)), 10.0)
    assert replica.advance(20.0)[0].cached_tokens == 4 * 64


def test_a_call_that_comes_again_after_it_was_cancelled_is_answered_whole():
    replica = SimulatedReplica(SPEC)
    replica.submit(1, 10, 100, (), 0.0)
    replica.advance(0.5)
    replica.cancel(1)
    replica.submit(1, 10, 100, (), 0.5)
    replica.submit(2, 10, 1, (), 0.5)
    told = replica.advance(60.0)
    assert [(word.call, word.stage) for word in told].count((1, "finished")) == 1
    assert told[-1].at > 0.5 + SPEC.idle_time(10, 100)


def test_equal_prompts_at_once_are_computed_once():
    replica = SimulatedReplica(SPEC)
    for call in range(3):
        replica.submit(call, 64, 2, (1, 2, 3, 4), 0.0)
    cached = {word.call: word.cached_tokens for word in replica.advance(10.0)}
    assert cached == {0: 0, 1: 63, 2: 63}


def test_a_call_larger_than_the_memory_has_all_of_it_alone():
    spec = ReplicaSpec(1000, 1, 0, kv_blocks=3, block_tokens=10)
    replica = SimulatedReplica(spec)
    replica.submit(1, 500, 5, tuple(range(50)), 0.0)
    replica.submit(2, 5, 5, (), 0.0)
    assert (replica.running, replica.waiting, replica.kv_usage) == (1, 1, 1.0)
    assert [word.call for word in replica.advance(10.0)] == [1, 1, 2, 2]
    assert not spec.holds(500, 5)
    assert spec.holds(25, 5)


def test_time_that_it_computed_is_known_in_the_middle_of_a_step():
    replica = SimulatedReplica(SPEC)
    assert replica.busy(5.0) == 0.0
    replica.submit(1, 64, 50, (), 5.0)
    assert replica.busy(5.004) == pytest.approx(0.004)
    replica.submit(2, 64, 50, (), 5.0)
    replica.advance(5.25)
    assert replica.busy(5.26) == pytest.approx(0.26)
    assert replica.occupied(5.26) == pytest.approx(2 * 0.26)
