"""What the Makefile does to the machine of whoever uses it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Need

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", [".venv", ".venv/"])
def test_an_environment_that_is_a_link_is_refused_and_what_it_leads_to_stays(tmp_path: Path, need: Need, name: str) -> None:
    for file in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / file, tmp_path)
    (tmp_path / "src").mkdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "pyvenv.cfg").write_text("home = /usr/bin\n")
    (tmp_path / ".venv").symlink_to(elsewhere)
    clean = {variable: value for variable, value in os.environ.items() if not variable.startswith("MAKE")}
    done = subprocess.run(
        [need.program("make"), "setup", f"PYTHON={sys.executable}", f"VENV={name}"],
        cwd=tmp_path,
        env=clean,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode
    assert "is a link" in done.stderr
    assert [path.name for path in elsewhere.iterdir()] == ["pyvenv.cfg"]
