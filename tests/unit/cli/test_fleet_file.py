"""The file of the fleet: the shipped one is whole, and what is wrong with another is named with its line."""

import itertools
import re
from pathlib import Path

import pytest

from antiphon.cli.simulate.fleet_file import SHIPPED, read_fleet
from antiphon.core.errors import ConfigError
from antiphon.scheduling.simulator.figures import Figures
from antiphon.scheduling.simulator.replica import ReplicaSpec
from antiphon.scheduling.simulator.scenario import Callers

ROOT = Path(__file__).parents[3]
WRITTEN = """\
fleet:
  - count: 2
    replica: {prefill_rate: 1000, step_base_ms: 10, step_per_sequence_ms: 0.1, block_tokens: 16}
callers: {target: 5, tiers: [1, 0, 0]}
"""


def test_the_shipped_one_is_the_one_among_the_benchmarks():
    assert (ROOT / "benchmarks" / "scheduler" / "fleet.yaml").resolve() == SHIPPED.resolve()
    scenario = read_fleet(None, 512)
    assert [spec.kv_blocks for spec in scenario.specs] == [2000] * 8
    assert scenario.callers.tiers == (0.2, 0.5, 0.3)
    assert scenario.scheduler.queue.max_wait == (20.0, 4.0, 1.5)


def test_every_figure_of_the_shipped_one_has_its_comment():
    lines = SHIPPED.read_text().splitlines()
    bare = [
        line
        for before, line in itertools.pairwise(lines)
        if ":" in line and line.rpartition(":")[2].strip() and not line.strip().startswith("#") and "#" not in before
    ]
    assert bare == ["  - count: 8", "      block_tokens: 512"]  # said by the lines around them


def test_the_one_of_the_page_can_be_read(tmp_path):
    block = re.search(r"```yaml\n(.*?)```", (ROOT / "docs" / "how-to" / "simulate.md").read_text(), re.DOTALL)
    assert block is not None
    file = tmp_path / "fleet.yaml"
    file.write_text(block[1])
    assert len(read_fleet(file, 512).specs) == 6


def test_every_setting_and_every_figure_is_in_the_reference():
    page = (ROOT / "docs" / "reference" / "simulator.md").read_text()
    settings = {
        *(f"callers.{name}" for name in Callers.__struct_fields__),
        *(f"fleet[].replica.{name}" for name in ReplicaSpec.__struct_fields__ if name != "block_tokens"),
        *("fleet[].count", "block_tokens", "scheduler", *Figures.__struct_fields__),
    }
    assert [name for name in sorted(settings) if f"`{name}`" not in page] == []


def test_another(tmp_path):
    file = tmp_path / "fleet.yaml"
    file.write_text(WRITTEN)
    assert len(read_fleet(file, 0).specs) == 2


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("count: 2", "count: 0", 2, "of at least 1"),
        ("prefill_rate: 1000, ", "", 3, 'lacks "prefill_rate"'),
        ("prefill_rate", "prefil_rate", 3, 'unknown setting "fleet[0].replica.prefil_rate"'),
        ("target: 5", "target: 0", 4, "above 0"),
        ("[1, 0, 0]", "[1, 0]", 4, "callers.tiers must be a list of 3, not one of 2"),
        ("[1, 0, 0]", "P0", 4, "must be a list of 3"),
        ("[1, 0, 0]", "[1, 0, no]", 4, "callers.tiers[2] must be a number"),
        ("[1, 0, 0]", "[0, 0, 0]", 4, "no call in any tier"),
        ("callers:", "scheduler: {queue: {max_wait: [1, 2, -3]}}\ncallers:", 4, "scheduler.queue.max_wait[2]"),
    ],
)
def test_what_is_wrong_with_it(tmp_path, old, new, line, what):
    file = tmp_path / "fleet.yaml"
    assert old in WRITTEN
    file.write_text(WRITTEN.replace(old, new))
    with pytest.raises(ConfigError) as caught:
        read_fleet(file, 0)
    errors = getattr(caught.value, "errors", (caught.value,))
    error = next(error for error in errors if what in error.message)
    assert (error.file, error.line) == (str(file), line)
    assert error.remedy


def test_prefix_blocks_must_be_those_of_the_trace(tmp_path):
    file = tmp_path / "fleet.yaml"
    file.write_text(WRITTEN)
    with pytest.raises(ConfigError, match=r"fleet\[0\]\.replica\.block_tokens is 16, and the trace's prefix blocks have 512"):
        read_fleet(file, 512)
