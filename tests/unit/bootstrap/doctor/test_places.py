import os
import tempfile

import pytest

from antiphon.bootstrap.doctor import Subject, places
from antiphon.config import Loaded, Settings


@pytest.fixture
def subject(tmp_path):
    return Subject(Loaded(Settings(data_dir=str(tmp_path / "data"), cache_dir=str(tmp_path / "a" / "cache")), None, {}, ()))


def found(subject):
    return {finding.found.partition(":")[0]: finding for finding in places.folders(subject)}


class Disk:
    f_frsize = 1 << 20
    f_bavail = 1 << 20
    f_files = f_favail = 1000


@pytest.fixture
def disk(monkeypatch):
    disk = Disk()
    monkeypatch.setattr(os, "statvfs", lambda path: disk)
    return disk


def test_folders_are_not_made(subject, tmp_path, disk):
    findings = found(subject)
    assert {finding.status for finding in findings.values()} == {"ok"}
    assert "will be made" in findings["cache_dir"].found
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("mib", "cache", "data"), [(500, "warning", "ok"), (10, "error", "error")])
def test_little_space(subject, disk, mib, cache, data):
    disk.f_bavail = mib
    findings = found(subject)
    assert (findings["cache_dir"].status, findings["data_dir"].status) == (cache, data)
    assert "ANTIPHON_CACHE_DIR" in findings["cache_dir"].remedy


def test_a_disk_that_takes_no_more_files(subject, disk):
    disk.f_favail = 0
    assert "inodes" in found(subject)["data_dir"].found


def test_a_folder_that_may_not_be_written(subject, disk, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert {finding.status for finding in found(subject).values()} == {"error"}


def test_a_file_in_the_place_of_a_folder(subject, disk, tmp_path):
    (tmp_path / "data").touch()
    assert found(subject)["data_dir"].status == "error"


def test_a_path_that_is_too_long_for_a_socket(subject, disk, tmp_path, monkeypatch):
    long = tmp_path / ("x" * 120)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    assert any("longer than" in finding.found and "TMPDIR" in finding.remedy for finding in places.folders(subject))
