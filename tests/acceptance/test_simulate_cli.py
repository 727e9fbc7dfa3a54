"""``antiphon simulate`` as a user has it."""

import json
import random
import sys

import pytest

from antiphon.scheduling.simulator.figures import Figures
from tests.acceptance.command_line import CommandLine

RUN = {
    *("policy", "ttft_p50_ms", "ttft_p90_ms", "ttft_p99_ms", "total_p99_ms", "targets_met", "feasible_met", "refused", "goodput"),
    *("utilisation", "hit_rate", "fairness", "cost"),
}
"""What every run tells for scripts, at least."""

FLEET = """\
fleet:
  - count: 2
    replica: {prefill_rate: 20000, step_base_ms: 10, step_per_sequence_ms: 0.1, max_running: 4, kv_blocks: 200}
callers: {target: 10, patience: 20, tiers: [0.2, 0.5, 0.3]}
scheduler: {queue: {max_wait: [10, 4, 2]}}
"""


@pytest.fixture
def cli(tmp_path):
    return CommandLine(tmp_path)


@pytest.fixture(scope="module")
def rows():
    """Calls of two minutes, two a second, more in the second half; half of their prompts begin alike."""
    rng, at, made = random.Random(5), 0.0, []
    for number in range(300):
        at += rng.expovariate(2.0 if number < 120 else 4.0)
        shared = [1, 2] if number % 2 else [10 * number + 1000, 10 * number + 1001]
        tokens = rng.choice([1200, 2000, 3500])
        own = [10 * number + 5000 + place for place in range(tokens // 512 - 2)]
        made.append((at, tokens, rng.choice([20, 80, 200]), [*shared, *own]))
    return made


@pytest.fixture
def trace(tmp_path, rows):
    path = tmp_path / "trace.jsonl"
    with path.open("w") as file:
        for at, prompt, output, blocks in rows:
            row = {"timestamp": at * 1000, "input_length": prompt, "output_length": output, "hash_ids": blocks}
            file.write(json.dumps(row) + "\n")
    return str(path)


@pytest.fixture
def fleet(tmp_path):
    path = tmp_path / "fleet.yaml"
    path.write_text(FLEET)
    return str(path)


def test_policies_side_by_side(cli, trace, fleet):
    shown = cli.run("simulate", "--trace", trace, "--fleet", fleet, "--policy", "soonest", "--against", "fifo,least-conn")
    assert shown.out.startswith("300 calls (Mooncake) recorded in ")
    assert " on 2 replicas; seed 0\n" in shown.out
    for word in ("soonest", "fifo", "least-conn", "targets met, P0", "first token, P99", "refused, of the work", "utilisation"):
        assert word in shown.out
    assert "replaying 300 calls with soonest" in shown.err
    assert max(map(len, shown.out.splitlines())) <= 100


def test_for_scripts(cli, trace, fleet):
    args = ("--trace", trace, "--fleet", fleet, "--policy", "soonest", "--against", "fifo", "--load", "2.5", "--json")
    shown = cli.run("simulate", *args)
    assert shown.err == ""
    runs = shown.json["runs"]
    assert [run["policy"] for run in runs] == ["soonest", "fifo"]
    for run in runs:
        assert run.keys() == set(Figures.__struct_fields__) >= RUN
        assert run["targets_met"].keys() == {"P0", "P1", "P2"}
        assert (run["load"], run["calls"], run["feasible"]) == (2.5, 300, 1.0)
        assert 0 < run["utilisation"] <= 1
        assert 0.05 < run["hit_rate"] < 0.5
    ours, fifo = runs
    assert ours["targets_met"]["P0"] > fifo["targets_met"]["P0"]
    assert ours["total_p99_ms"] < fifo["total_p99_ms"]
    assert fifo["refused"] == 0


def test_the_load_at_which_another_policy_meets_a_share_of_the_targets(cli, trace, fleet):
    args = ("--trace", trace, "--fleet", fleet, "--policy", "soonest", "--against", "fifo", "--load", "auto:0.7", "--json")
    first, again = cli.run("simulate", *args).json, cli.run("simulate", *args).json
    assert abs(first["runs"][1]["all_met"] - 0.7) < 0.02
    for report in (first, again):
        for run in report["runs"]:
            assert run.pop("cpu_us_per_event") > 0
    assert first == again


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_a_picture(cli, tmp_path, trace, fleet, ending):
    pytest.importorskip("matplotlib")
    file = tmp_path / f"runs.{ending}"
    args = ("--limit", "100", "--policy", "soonest", "--against", "fifo", "--plot", str(file))
    cli.run("simulate", "--trace", trace, "--fleet", fleet, *args)
    assert file.read_bytes()[:5] in {b"<?xml", b"\x89PNG\r", b"%PDF-"}


def test_a_picture_where_matplotlib_is_missing(cli, tmp_path, trace):
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['matplotlib'] = None\n")  # as if it were not installed
    path = ":".join([str(tmp_path), *sys.path])
    shown = cli.run("simulate", "--trace", trace, "--policy", "fifo", "--plot", "a.svg", code=2, PYTHONPATH=path)
    assert "pip install 'antiphon[plot]'" in shown.err


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (("--policy", "guess"), 'there is no policy "guess"'),
        (("--policy", "fifo:0"), "no weight above 0"),
        (("--policy", "fifo", "--load", "fast"), "--load fast is no load"),
        (("--policy", "fifo", "--load", "auto:2", "--against", "fifo"), "names no share between 0 and 1"),
        (("--policy", "fifo", "--load", "auto:0.6"), "needs a policy to go by"),
        (("--policy", "fifo", "--plot", "a.gif"), "is of no known kind"),
        (("--policy", "fifo", "--plot", "nowhere/a.svg"), "there is no folder nowhere"),
        (("--policy", "fifo", "--fleet", "none.yaml"), "there is no such file"),
    ],
)
def test_what_cannot_be_done_is_told_with_a_remedy(cli, trace, options, what):
    shown = cli.run("simulate", "--trace", trace, *options, code=2)
    assert what in shown.err
    assert "remedy: " in shown.err


def test_a_wrong_line_is_named(cli, trace):
    with open(trace, "a") as file:
        file.write('{"timestamp": 1, "input_length": "long", "output_length": 5}\n')
    error = cli.run("simulate", "--trace", trace, "--policy", "fifo", "--json", code=2).error
    assert (error["file"], error["line"]) == (trace, 301)
    assert error["remedy"]
