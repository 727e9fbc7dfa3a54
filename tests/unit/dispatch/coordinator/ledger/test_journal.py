import asyncio
import errno
import os
import time

import pytest

from antiphon.core.errors import SetupError
from antiphon.dispatch.coordinator.ledger import journal as journal_module
from antiphon.dispatch.coordinator.ledger.journal import Journal
from antiphon.dispatch.coordinator.ledger.rows import EpochRow, PastRow, SessionRow, ShareRow

EPOCH = EpochRow(1)
SHARE = ShareRow("s", "a", "none/0/0", 10, 4, ((0, 3, 1),))
PAST = PastRow("a", "none/0/0", ((0, 7),))


async def reopened(path):
    journal = Journal(path)
    rows = journal.rows
    await journal.close()
    return rows


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger" / "journal"


def test_the_last_row_of_a_kind_counts_and_what_is_gone_is_gone(path):
    async def run():
        journal = Journal(path)
        assert journal.append([EPOCH, SHARE, PAST, SessionRow("s", "live"), SessionRow("t", "live")])
        newer = ShareRow("s", "a", "none/0/0", 12, 4, ())
        assert journal.append([newer, SessionRow("t", "gone"), PastRow("a", "none/0/0", ())])
        await journal.close()
        assert await reopened(path) == [EPOCH, newer, SessionRow("s", "live")]

    asyncio.run(run())


@pytest.mark.parametrize("lost", range(1, 30, 4))
def test_a_torn_tail_is_cut_with_a_warning(path, lost, caplog):
    async def run():
        journal = Journal(path)
        journal.append([EPOCH, PAST])
        journal.append([SHARE])
        await journal.close()
        os.truncate(path, path.stat().st_size - lost)
        assert await reopened(path) == [EPOCH, PAST]
        assert "put aside" in caplog.text
        journal = Journal(path)
        assert journal.append([SHARE])
        await journal.close()
        assert await reopened(path) == [EPOCH, PAST, SHARE]

    asyncio.run(run())


def test_a_flipped_bit_is_found(path):
    async def run():
        journal = Journal(path)
        journal.append([EPOCH])
        journal.append([SHARE])
        await journal.close()
        data = bytearray(path.read_bytes())
        data[-3] ^= 4
        path.write_bytes(data)
        assert await reopened(path) == [EPOCH]
        assert path.with_suffix(".cut").exists()

    asyncio.run(run())


def test_one_server_at_a_time(path):
    async def run():
        journal = Journal(path)
        with pytest.raises(SetupError, match="another server keeps its ledger"):
            Journal(path)
        await journal.close()
        await reopened(path)

    asyncio.run(run())


def test_a_file_that_was_made_on_a_full_disk_is_whole_once_there_is_room(path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    async def run():
        with monkeypatch.context() as disk:
            disk.setattr(os, "write", full)
            journal = Journal(path)
            assert not journal.append([EPOCH])
        assert journal.append([EPOCH, PAST])
        assert journal.append([SHARE])
        await journal.close()
        assert await reopened(path) == [EPOCH, PAST, SHARE]

    asyncio.run(run())


def test_on_a_full_disk_nothing_is_half_written(path, monkeypatch):
    async def run():
        journal = Journal(path)
        assert journal.append([EPOCH])
        write = os.write

        def half(fd, data):
            write(fd, data[: len(data) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patched:
            patched.setattr(os, "write", half)
            assert not journal.append([SHARE])
        assert journal.append([PAST])
        await journal.close()
        assert await reopened(path) == [EPOCH, PAST]

    asyncio.run(run())


def test_a_file_of_outdated_rows_is_rewritten_while_rows_arrive(path, monkeypatch):
    monkeypatch.setattr(journal_module, "COMPACT_FROM", 2000)
    monkeypatch.setattr(journal_module, "SYNC_EVERY", 0.0)

    async def run():
        journal = Journal(path)
        for number in range(2000):
            assert journal.append([ShareRow("s", f"account-{number % 7}", "none/0/0", number, 0, ())])
            if not number % 20:
                await asyncio.sleep(0.001)
        deadline = time.monotonic() + 20
        while path.stat().st_size >= 20_000:  # the last rewriting may still be on its way
            assert time.monotonic() < deadline, "it was not rewritten"
            assert journal.append([ShareRow("s", "account-4", "none/0/0", 1999, 0, ())])
            await asyncio.sleep(0.01)
        await journal.close()
        rows = await reopened(path)
        assert sorted(row.granted for row in rows) == list(range(1993, 2000))

    asyncio.run(run())
