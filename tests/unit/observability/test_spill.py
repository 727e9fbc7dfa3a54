import os
import subprocess
import sys
from pathlib import Path

import pytest

from antiphon.observability.events.spill import Spill


def drain(spill: Spill) -> list[bytes]:
    records = []
    while (record := spill.first()) is not None:
        records.append(record)
        spill.drop(record)
    return records


def test_records_come_back_in_order_and_the_file_goes(tmp_path: Path) -> None:
    spill = Spill(tmp_path / "new" / "a.spill", 1 << 20)
    assert not spill
    assert spill.first() is None
    for number in range(100):
        spill.append(b"%d" % number * 50)
    assert spill
    assert spill.first() == spill.first() == b"0" * 50
    assert drain(spill) == [b"%d" % number * 50 for number in range(100)]
    assert (spill.size, spill.path.stat().st_size) == (0, 0)
    spill.append(b"")
    assert drain(spill) == [b""]
    spill.close()
    assert not spill.path.exists()


def test_what_waits_is_found_by_another_life(tmp_path: Path) -> None:
    spill = Spill(tmp_path / "a.spill", 1 << 20)
    spill.append(b"first")
    spill.append(b"second")
    assert list(Spill.abandoned(tmp_path, 1 << 20)) == []
    spill.close()
    [found] = Spill.abandoned(tmp_path, 1 << 20)
    assert list(Spill.abandoned(tmp_path, 1 << 20)) == []
    assert drain(found) == [b"first", b"second"]
    found.close()
    assert list(tmp_path.iterdir()) == []


def test_a_killed_process_leaves_what_it_wrote(tmp_path: Path) -> None:
    program = (
        "import os, sys; from pathlib import Path; from antiphon.observability.events.spill import Spill;"
        "spill = Spill(Path(sys.argv[1]), 1 << 20); spill.append(b'kept'); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "a.spill")], check=False, timeout=30)
    [found] = Spill.abandoned(tmp_path, 1 << 20)
    assert drain(found) == [b"kept"]
    found.close()


@pytest.mark.parametrize("cut", range(1, 13))
def test_a_record_that_is_half_written_is_cut_off(tmp_path: Path, cut: int) -> None:
    spill = Spill(tmp_path / "a.spill", 1 << 20)
    spill.append(b"whole")
    spill.append(b"torn")
    spill.close()
    os.truncate(spill.path, spill.path.stat().st_size - cut)
    [found] = Spill.abandoned(tmp_path, 1 << 20)
    assert drain(found) == [b"whole"]
    found.append(b"after")
    assert drain(found) == [b"after"]
    found.close()


def test_a_record_that_was_altered_is_not_given(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    spill = Spill(tmp_path / "a.spill", 1 << 20)
    spill.append(b"some bytes")
    with spill.path.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"?")
    assert drain(spill) == []
    assert "damaged after 0 bytes" in caplog.text
    spill.close()


def test_more_than_the_limit_is_refused_and_nothing_is_harmed(tmp_path: Path) -> None:
    spill = Spill(tmp_path / "a.spill", 100)
    spill.append(b"x" * 60)
    with pytest.raises(OSError, match=r"which is the most.*a\.spill"):
        spill.append(b"y" * 60)
    spill.append(b"z" * 10)
    assert drain(spill) == [b"x" * 60, b"z" * 10]
    spill.append(b"y" * 60)
    spill.close()


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.spill").symlink_to("/dev/full")
    spill = Spill(tmp_path / "a.spill", 1 << 20)
    with pytest.raises(OSError, match="No space left"):
        spill.append(b"x")
    assert not spill
    spill.close()
