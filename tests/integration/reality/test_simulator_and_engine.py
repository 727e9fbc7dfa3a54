"""The simulator beside the real engine: what carries a load from one to the other. How well both agree is for benchmarks to say."""

import asyncio
import json

import pytest

from antiphon.scheduling.simulator.replica import ReplicaSpec
from benchmarks.reality import __main__ as reality
from benchmarks.reality.calibrate import measure
from benchmarks.reality.fit import compare, fit
from benchmarks.reality.load import load
from benchmarks.reality.scenes import Group
from benchmarks.reality.server import served

FLEET = """\
fleet:
  - count: 1
    replica: {prefill_rate: 400, step_base_ms: 30, step_per_sequence_ms: 3, call_overhead_ms: 10, chunk: 256, max_running: 64,
      block_tokens: 32}
callers: {target: 10000, patience: 86400, max_tokens: 1}
scheduler: {block_tokens: 32, queue: {max_wait: [600, 600, 600], patience: 600}}
"""
RATE, SECONDS, SEED = 1.2, 5.0, 25
"""Few calls, of which two begin alike."""
SCENES = {
    "two": (Group("calls", 2, 96, 4),),
    "known": (Group("call", 1, 128, 3, again=True),),
    "one and another": (Group("first", 1, 16, 6), Group("second", 1, 32, 2, after=0.2)),
}


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "run"
    place.mkdir()
    return place


def _lines(file):
    return [json.loads(line) for line in file.read_bytes().splitlines()]


def test_the_same_load_on_both(need, folder):
    fleet, report = folder / "fleet.yaml", folder / "report.json"
    fleet.write_text(FLEET)
    told = ["--model", "small", "--file", str(need.model()), "--fleet", str(fleet), "--keep", str(folder)]
    code = reality.main([*told, "--minutes", str(SECONDS / 60), "--load", str(RATE), "--seed", str(SEED), "--json", str(report)])
    assert code in (0, 1)  # 1 too where both do not agree, which is not looked at here
    found, planned = json.loads(report.read_bytes()), load(RATE, SECONDS, SEED)
    assert (found["calls"], found["failed"]) == (len(planned), 0)
    assert found["hit_rate"] > 0
    for times in (found["real"], found["simulated"], found["from_log"]):
        assert 0 < times["ttft_p50_ms"] <= times["ttft_p95_ms"] <= times["total_p95_ms"]
        assert times["ttft_p50_ms"] <= times["total_p50_ms"] <= times["total_p95_ms"]
    plain, rows = (_lines(folder / name) for name in ("calls.jsonl", "prefixes.jsonl"))
    wanted = sorted((len(call.ask.prompt), call.ask.output) for call in planned)
    assert sorted((row["prompt_tokens"], row["completion_tokens"]) for row in plain) == wanted
    assert sorted((row["input_length"], row["output_length"]) for row in rows) == wanted
    assert [len(row["hash_ids"]) for row in rows] == [row["input_length"] // 32 for row in rows]


def test_a_replica_is_fitted_to_what_was_measured(need, folder):
    with served("small", folder, scheduled=False, file=need.model()) as place:
        measured, usage = asyncio.run(measure(place, SCENES, 1))
    assert 0 < usage < 1
    assert measured.keys() == SCENES.keys()
    fixed = ReplicaSpec(1, 1, 0, chunk=256, block_tokens=32)
    found = compare(fit(fixed, SCENES, measured), SCENES, measured)
    assert len(found) == 8
    assert sum(point.error**2 for point in found) <= sum(point.error**2 for point in compare(fixed, SCENES, measured))
