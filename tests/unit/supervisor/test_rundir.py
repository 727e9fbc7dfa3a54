import os
import stat
import tempfile
from pathlib import Path

import pytest

from antiphon.core.errors import SetupError
from antiphon.supervisor.rundir import RunDir


@pytest.fixture(autouse=True)
def tmp(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_only_this_user_may_look_inside_and_nothing_is_left_of_it(tmp):
    folder = RunDir()
    assert stat.S_IMODE(os.stat(folder.path).st_mode) == 0o700
    Path(folder.path, "control.sock").touch()
    folder.close()
    assert list(tmp.iterdir()) == []


def test_folders_of_the_living_are_kept_and_those_of_the_dead_removed(tmp):
    living, dead = RunDir(), RunDir()
    os.close(dead._lock)  # as the kernel does for one that is killed
    stranger = tmp / "antiphon-notes"
    stranger.mkdir()
    fresh = RunDir()
    assert {path.name for path in tmp.iterdir()} == {Path(living.path).name, Path(fresh.path).name, "antiphon-notes"}
    living.close()
    fresh.close()


def test_no_place_for_it_is_an_error_with_a_remedy(tmp, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp / "missing"))
    with pytest.raises(SetupError, match="TMPDIR"):
        RunDir()
