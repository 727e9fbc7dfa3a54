"""Does what docs/how-to/add-a-policy.md says, with a package that brings the policy of that page."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from tests.unit.scheduling.fleets import busy, fleet, info, job, situation

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "add-a-policy.md").read_text()
(SOURCE,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
((GROUP, ENTRY),) = re.findall(r'^\[project.entry-points."(.*?)"\]\n(.*?)\n```', PAGE, re.MULTILINE)
COMMAND = shlex.split(*re.findall(r"^```\nantiphon (simulate .*?)\n```", PAGE, re.MULTILINE))


@pytest.fixture
def folder(tmp_path):
    """A folder with the package as pip would install it, and some traffic."""
    (tmp_path / "cheap_at_night.py").write_text(SOURCE)
    told = tmp_path / "cheap_at_night-1.0.dist-info"
    told.mkdir()
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: cheap-at-night\nVersion: 1.0\n")
    (told / "entry_points.txt").write_text(f"[{GROUP}]\n{ENTRY.replace(chr(34), '')}\n")
    calls = [{"timestamp": 100 * number, "input_length": 900, "output_length": 30, "hash_ids": [number]} for number in range(100)]
    (tmp_path / "traffic.jsonl").write_text("".join(json.dumps(call) + "\n" for call in calls))
    return tmp_path


def run(folder, *arguments):
    inherited = {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": f"{folder}:{':'.join(path for path in sys.path if path)}",
        "HOME": str(folder),
    }
    return subprocess.run(
        [sys.executable, "-m", "antiphon", *arguments],
        check=False,
        cwd=folder,
        env=inherited,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_the_policy_of_the_page_is_found_and_simulated(folder):
    done = run(folder, *COMMAND, "--json")
    assert done.returncode == 0, done.stderr
    first, *others = json.loads(done.stdout)["runs"]
    assert "cheap-at-night" in first["policy"]
    assert [other["policy"] for other in others] == ["balanced", "round-robin"]
    assert first["feasible_met"] == 1


def test_the_policy_of_the_page_prefers_night_while_there_is_little_to_do():
    names = {}
    exec(compile(SOURCE, "cheap_at_night.py", "exec"), names)
    of = fleet(info("day", region="eu"), info("night", region="us-west"))

    def scores():
        return names["plugin"].score(job(), of.replicas, situation(of), Random(1))

    assert scores()[1] > scores()[0]
    busy(of, 1, 4)
    assert scores()[0] > scores()[1]
