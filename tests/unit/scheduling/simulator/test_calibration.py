"""A replica model that was fitted to times behaves as what these times are of."""

from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from antiphon.cli.simulate.fleet_file import read_fleet
from antiphon.scheduling.simulator.replica import ReplicaSpec
from benchmarks import reality
from benchmarks.reality.fit import compare, fit, middle
from benchmarks.reality.load import BEGINNING, Blocks, load
from benchmarks.reality.scenes import Times, scenes, simulate

FIXED = ReplicaSpec(1, 1, 0, chunk=256, block_tokens=32)
SCENES = scenes(32)
SERVERS = (
    ReplicaSpec(410, 30, 3.2, 1.5, prefill_attention_ms=300, call_overhead_ms=12, chunk=256, block_tokens=32),
    ReplicaSpec(9000, 12, 0.2, chunk=256, block_tokens=32),
)


@pytest.mark.parametrize("server", SERVERS)
def test_what_a_model_is_fitted_to_it_does_again(server):
    measured = {name: simulate(server, scene) for name, scene in SCENES.items()}
    errors = [abs(point.error) for point in compare(fit(FIXED, SCENES, measured), SCENES, measured)]
    assert sorted(errors)[len(errors) // 2] < 0.03
    assert max(errors) < 0.25


def test_errors_of_measurement_are_evened_out():
    rng, server = Random(4), SERVERS[0]
    true = {name: simulate(server, scene) for name, scene in SCENES.items()}
    noisy = {
        name: [Times(each.ttft * rng.uniform(0.93, 1.07), each.per_token * rng.uniform(0.93, 1.07)) for each in times]
        for name, times in true.items()
    }
    errors = sorted(abs(point.error) for point in compare(fit(FIXED, SCENES, noisy), SCENES, true))
    assert errors[len(errors) // 2] < 0.05


def test_the_fleet_that_was_measured_can_be_read():
    spec = read_fleet(Path(reality.__file__).with_name("smollm2-135m.yaml"), 32).specs[0]
    assert spec.step_base_ms > 0 < spec.prefill_rate


def test_medians_of_repeats_are_taken_group_by_group():
    repeats = [[Times(1, 10), Times(5, 1)], [Times(2, 30), Times(4, 1)], [Times(9, 20), Times(6, 3)]]
    assert middle(repeats) == [Times(2, 20), Times(5, 1)]


def test_a_load_is_that_of_its_seed():
    calls = load(2.0, 300.0, 1)
    assert calls == load(2.0, 300.0, 1) != load(2.0, 300.0, 2)
    assert 500 < len(calls) < 700
    assert all(before.at <= after.at for before, after in pairwise(calls))
    assert calls[-1].at < 300
    beginnings = [tuple(call.ask.prompt[:BEGINNING]) for call in calls if len(call.ask.prompt) > BEGINNING]
    assert 0.2 < sum(beginnings.count(each) > 1 for each in beginnings) / len(calls) < 0.4


def test_prefix_blocks_are_the_same_as_far_as_prompts_are():
    blocks = Blocks(4)
    first, second = blocks.of([1, 2, 3, 4, 5, 6, 7, 8, 9]), blocks.of([1, 2, 3, 4, 5, 6, 7, 9, 9, 9, 9, 9])
    assert (len(first), len(second)) == (2, 3)
    assert first[0] == second[0]
    assert not {*first[1:]} & {*second[1:]}
    assert blocks.of([2, 2, 3, 4]) not in ([first[0]], [second[0]])
