import errno
from pathlib import Path

import pytest

from antiphon.core.errors import NoSpace, SetupError
from antiphon.registry import disk


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_full_disk_names_path_needed_and_free_bytes(tmp_path, number, monkeypatch):
    monkeypatch.setattr(disk, "free_bytes", lambda path: 17)
    with pytest.raises(NoSpace, match="4711 bytes needed, 17 bytes free") as caught, disk.disk_errors(tmp_path, lambda: 4711):
        raise OSError(number, "full")
    assert str(tmp_path) in caught.value.message
    assert "cache_dir" in caught.value.remedy


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.EIO])
def test_a_disk_that_takes_nothing_is_named(tmp_path, number):
    with pytest.raises(SetupError, match="cannot write") as caught, disk.disk_errors(tmp_path):
        raise OSError(number, "no", "/read/only")
    assert "/read/only" in caught.value.message
    assert "ANTIPHON_CACHE_DIR" in caught.value.remedy


def test_space_is_asked_of_the_nearest_folder_that_exists(tmp_path):
    disk.require_space(tmp_path / "not" / "yet", 1)
    with pytest.raises(NoSpace):
        disk.require_space(tmp_path / "not" / "yet", 1 << 60)


def test_a_file_is_replaced_whole_and_nothing_else_stays(tmp_path):
    path = tmp_path / "deep" / "file.json"
    disk.write_atomically(path, b"one")
    disk.write_atomically(path, b"two")
    assert path.read_bytes() == b"two"
    assert [entry.name for entry in path.parent.iterdir()] == ["file.json"]


def test_a_folder_that_cannot_be_made_is_an_error_with_a_remedy(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SetupError, match="cannot write") as caught:
        disk.write_atomically(tmp_path / "file" / "x.json", b"")
    assert caught.value.remedy


def test_a_lock_is_free_again_after_an_error(tmp_path):
    waited: list[Path] = []
    with pytest.raises(ValueError, match="oops"), disk.locked(tmp_path / "lock", lambda: waited.append(tmp_path)):
        raise ValueError("oops")
    with disk.locked(tmp_path / "lock", lambda: waited.append(tmp_path)):
        pass
    assert waited == []
