"""What the Makefile does to the machine of whoever uses it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Need

ROOT = Path(__file__).parents[2]


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """What the link leads to that is in the place of the environment."""
    for file in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / file, tmp_path)
    for name in ("src", "tests", "benchmarks", "elsewhere"):
        (tmp_path / name).mkdir()
    folder = tmp_path / "elsewhere"
    (folder / "pyvenv.cfg").write_text("home = /usr/bin\n")
    (tmp_path / ".venv").symlink_to(folder)
    return folder


def make(need: Need, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    command = [need.program("make"), *arguments, f"PYTHON={sys.executable}"]
    return subprocess.run(command, cwd=folder, env=clean, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("name", [".venv", ".venv/"])
def test_an_environment_that_is_a_link_is_refused_and_what_it_leads_to_stays(elsewhere: Path, need: Need, name: str) -> None:
    done = make(need, elsewhere.parent, "setup", f"VENV={name}")
    assert done.returncode
    assert "is a link" in done.stderr
    assert [path.name for path in elsewhere.iterdir()] == ["pyvenv.cfg"]


@pytest.mark.parametrize("name", [".venv", ".venv/"])
def test_clean_removes_a_link_and_leaves_what_it_leads_to(elsewhere: Path, need: Need, name: str) -> None:
    assert make(need, elsewhere.parent, "clean", f"VENV={name}").returncode == 0
    assert not (elsewhere.parent / ".venv").is_symlink()
    assert [path.name for path in elsewhere.iterdir()] == ["pyvenv.cfg"]
