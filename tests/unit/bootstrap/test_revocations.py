import errno
import logging
import os
from pathlib import Path

import pytest

from antiphon.bootstrap import ballast
from antiphon.bootstrap.revocations import Revocation, Revocations, append, revocations_file
from antiphon.core.errors import NoSpace, SetupError
from antiphon.gateway.key_table import digest_of

A, B, C = (digest_of(letter) for letter in (b"a", b"b", b"c"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return revocations_file(str(tmp_path))


def revoke(path: Path, *digests: bytes, revoked: bool = True) -> int:
    return append(path, [Revocation(digest.hex(), "somebody", revoked) for digest in digests])


def test_what_is_added_is_seen_once_and_a_restored_key_is_none_of_them(path):
    known = Revocations(path)
    digests = known.digests
    assert not known.refresh()
    assert revoke(path, A, B) == path.stat().st_size
    assert known.refresh()
    assert digests == {A, B}
    assert not known.refresh()
    length = revoke(path, A, revoked=False)
    assert known.refresh()
    assert digests == {B}
    assert known.position == length
    assert Revocations(path).refresh()


def test_another_process_finds_the_same(path):
    revoke(path, A)
    revoke(path, B)
    revoke(path, A, revoked=False)
    known = Revocations(path)
    known.refresh()
    assert known.digests == {B}
    assert path.stat().st_mode & 0o777 == 0o600


def test_half_a_line_is_waited_for_and_a_torn_one_costs_only_itself(path, caplog):
    revoke(path, A)
    known = Revocations(path)
    with path.open("ab") as file:
        file.write(b'{"digest":"')
    known.refresh()
    assert known.digests == {A}
    length = revoke(path, B)
    with caplog.at_level(logging.ERROR):
        known.refresh()
    assert known.digests == {A, B}
    assert known.position == length
    assert "passed over" in caplog.text


def test_a_file_that_was_replaced_cut_or_removed_is_read_anew(path):
    revoke(path, A, B)
    known = Revocations(path)
    known.refresh()
    lines = path.read_bytes().splitlines(keepends=True)
    fresh = path.with_suffix(".new")
    fresh.write_bytes(lines[1])
    os.replace(fresh, path)
    assert known.refresh()
    assert known.digests == {B}
    path.unlink()
    assert known.refresh()
    assert known.digests == set()
    revoke(path, C)
    assert known.refresh()
    assert known.digests == {C}


def test_a_longer_file_in_the_place_of_another_is_read_from_its_beginning(path):
    revoke(path, A, C)
    backup = path.read_bytes()
    path.write_bytes(b"")
    revoke(path, B)
    known = Revocations(path)
    known.refresh()
    path.write_bytes(backup)  # as a copy from a backup does: the same file, and it has grown
    assert known.refresh()
    assert known.digests == {A, C}
    assert known.position == len(backup)


def test_who_stands_in_a_damaged_line_stays_out_and_the_line_is_named(path, caplog):
    revoke(path, A, B)
    path.write_bytes(path.read_bytes().replace(b"{", b"X{", 1))
    known = Revocations(path)
    known.refresh()
    assert known.digests == {A, B}
    assert f"{path}:1 is damaged" in caplog.text


def test_a_file_that_cannot_be_read_is_named_and_what_is_known_stays(path):
    revoke(path, A)
    known = Revocations(path)
    known.refresh()
    path.unlink()
    path.mkdir()
    with pytest.raises(SetupError, match="cannot be read"):
        known.refresh()
    assert known.digests == {A}


def test_a_full_disk_without_ballast_changes_nothing(path, monkeypatch):
    revoke(path, A)
    ballast.beside(path).unlink()
    before = path.read_bytes()

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(NoSpace, match="nothing is changed"):
        revoke(path, B)
    assert path.read_bytes() == before


def test_on_a_full_disk_half_of_the_ballast_goes_at_a_time_until_there_is_room(path, monkeypatch):
    revoke(path, A)
    kept = ballast.beside(path)
    assert (kept.stat().st_size, kept.stat().st_mode & 0o777) == (ballast.SIZE, 0o600)
    real, sizes = os.fsync, []

    def crowded(fd: int) -> None:
        sizes.append(kept.stat().st_size)
        if os.fstat(fd).st_ino == path.stat().st_ino and sizes[-1] > ballast.SIZE // 4:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(fd)

    monkeypatch.setattr(os, "fsync", crowded)
    revoke(path, B)
    assert min(sizes) == ballast.SIZE // 4
    assert kept.stat().st_size == ballast.SIZE
    known = Revocations(path)
    known.refresh()
    assert known.digests == {A, B}


def test_a_pipe_in_place_of_the_file_keeps_nobody_waiting(path):
    revoke(path, A)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(SetupError, match="no ordinary file"):
        Revocations(path).refresh()
    with pytest.raises(SetupError, match="no ordinary file"):
        revoke(path, B)
