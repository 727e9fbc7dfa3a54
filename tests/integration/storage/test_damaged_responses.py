"""The file of the responses is damaged, deleted or replaced under its workers: what is intact is kept on, the log says the rest."""

import asyncio
import contextlib
import logging
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from antiphon.core.errors import CapacityError, PreviousResponseNotFound
from antiphon.core.response_store import ResponseBounds, StoredResponse
from antiphon.storage.sqlite_responses import SqliteResponseStore
from antiphon.testing.response_store_contract import conversation, delete, find, names, put, tried

PAGE = 4096
pytestmark = [pytest.mark.timeout(120), pytest.mark.anyio]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def response(number: int, size: int = 6000, previous: str = "") -> StoredResponse:
    text = random.Random(number).randbytes(size // 2).hex()
    return StoredResponse(f"r{number}", f'{{"n": {number}, "text": "{text}"}}'.encode(), b"[1]", previous)


def opened(path: Path, **options: float) -> SqliteResponseStore:
    # patient, so that a busy machine fails no test
    return SqliteResponseStore(path, timeout=options.pop("timeout", 10.0), **options)


async def fill(path: Path, count: int, size: int = 6000) -> None:
    store = opened(path)
    await asyncio.gather(*(put(store, "a", response(number, size)) for number in range(count)))
    await store.close()


async def there(store: SqliteResponseStore, count: int, size: int = 6000, first: int = 0) -> set[int]:
    """Those that are found, each of which must be as it was put."""
    wanted = {number: response(number, size) for number in range(first, first + count)}
    found = await find(store, "a", *(one.id for one in wanted.values()))
    assert all(one == wanted[int(name[1:])] for name, one in found.items())
    return {int(name[1:]) for name in found}


def damage(path: Path, *pages: int) -> None:
    with path.open("r+b") as file:
        for page in pages:
            file.seek((page - 1) * PAGE)
            file.write(os.urandom(PAGE))


def change(path: Path, old: bytes) -> None:
    """Change these bytes of the file."""
    at = path.read_bytes().index(old)
    with path.open("r+b") as file:
        file.seek(at)
        file.write(b"x" * len(old))


def spoil(path: Path, chance: random.Random) -> None:
    """Write here and there over the file, if there is one."""
    raw = bytearray(path.read_bytes() if path.exists() else b"")
    for _ in range(chance.choice((1, 20, 300)) if raw else 0):
        at = chance.randrange(len(raw))
        raw[at : at + 8] = chance.randbytes(8)[: len(raw) - at]
    if raw:
        with path.open("r+b") as file:
            file.write(raw)


def content(path: Path) -> bytes:
    return path.read_bytes()


def pages(path: Path, kind: int) -> list[int]:
    """The pages of a kind: 13 for the rows of a table, 10 for a leaf of an index."""
    raw = path.read_bytes()
    return [at // PAGE + 1 for at in range(PAGE, len(raw), PAGE) if raw[at] == kind and raw[at + 1 : at + 3] == b"\0\0"]


def lines(caplog: pytest.LogCaptureFixture) -> str:
    return "\n".join(record.getMessage() for record in caplog.records)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "responses" / "responses.db"


async def test_a_damaged_page_takes_what_is_on_it_and_nothing_else(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    await fill(path, 150)
    leaves = pages(path, 13)
    assert len(leaves) > 20
    damage(path, leaves[5], leaves[10])
    store = opened(path)
    kept = await there(store, 150)
    assert 130 <= len(kept) < 150
    said = lines(caplog)
    assert "is damaged" in said
    assert f"{len(kept)} responses could be read and are kept on, {150 - len(kept)} could not be read and are lost" in said
    assert f"The damaged file is {path}.damaged-1" in said
    assert store.stats().responses == len(kept)
    await put(store, "a", response(200))
    gone = next(number for number in range(150) if number not in kept)
    error = await conversation(store, "a", f"r{gone}")
    assert isinstance(error, PreviousResponseNotFound)
    assert "lost with a damaged or deleted file" in error.message
    await store.close()


async def test_what_only_the_log_of_writes_holds_outlives_the_damage(path: Path) -> None:
    await fill(path, 100)
    store = opened(path)
    await asyncio.gather(*(put(store, "a", response(number)) for number in range(100, 140)))
    damage(path, *range(4, len(content(path)) // PAGE - 5))
    other = opened(path)
    kept = await there(other, 140)
    assert set(range(100, 140)) <= kept
    aside = path.with_name("responses.db.damaged-1")
    assert path.with_name("responses.db.damaged-1-wal").stat().st_size > 40 * 6000
    await there(store, 140)
    await asyncio.gather(store.close(), other.close())
    with contextlib.closing(sqlite3.connect(f"{aside.as_uri()}?mode=ro", uri=True)) as found:
        assert found.execute("SELECT count(*) FROM responses WHERE rowid > 100").fetchone()[0] == 40, "it was put aside as it was"


async def test_what_was_put_aside_is_never_overwritten(path: Path) -> None:
    await fill(path, 50)
    for number in (1, 2, 3):
        damage(path, pages(path, 13)[3])
        damaged = content(path)
        store = opened(path)
        assert await there(store, 50)
        await store.close()
        assert path.with_name(f"responses.db.damaged-{number}").read_bytes() == damaged
    assert sorted(one.name for one in path.parent.glob("*.damaged-?")) == [f"responses.db.damaged-{one}" for one in (1, 2, 3)]


async def test_bytes_that_changed_within_a_response_are_not_handed_out(path: Path) -> None:
    await fill(path, 20, 20_000)
    change(path, response(7, 20_000).response[9000:9050])
    store = opened(path)
    assert await there(store, 20, 20_000) == set(range(20)) - {7}
    await store.close()


async def test_a_damaged_index_costs_nothing(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    await fill(path, 400, 200)
    damage(path, *pages(path, 10))
    store = opened(path)
    assert await there(store, 400, 200) == set(range(400))
    assert "400 responses could be read and are kept on, 0 could not be read" in lines(caplog)
    await store.close()


@pytest.mark.parametrize("running", [False, True])
async def test_a_damaged_first_page_costs_nothing(path: Path, running: bool) -> None:
    await fill(path, 150)
    if running:
        other = opened(path)
        await asyncio.gather(*(put(other, "a", response(number)) for number in range(150, 200)))
        assert await delete(other, "a", "r3")
        await asyncio.wrap_future(other._file.thread.submit(lambda: other._file._connect().execute("PRAGMA wal_checkpoint")))
    damage(path, 1)
    damaged = content(path)
    store = opened(path)
    expected = set(range(200)) - {3} if running else set(range(150))
    assert await there(store, 200) == expected
    if running:
        assert await there(other, 200) == expected
        await other.close()
    await store.close()
    assert content(path.with_name("responses.db.damaged-1")) == damaged
    assert not list(path.parent.glob("*mended*"))


@pytest.mark.parametrize("seed", range(12))
async def test_whatever_is_damaged_answers_come_and_are_right(path: Path, seed: int) -> None:
    chance = random.Random(seed)
    await fill(path, 60)
    store = opened(path)
    await put(store, "a", response(60))
    for number in range(3):
        spoil(chance.choice([path, path, path.with_name(path.name + "-wal")]), chance)
        other = opened(path)
        for one in (store, other):
            await there(one, 60)
            error = await tried(one, "a", response(100 + number))
            assert error is None or isinstance(error, CapacityError)
            assert error is not None or await there(one, 1, first=100 + number)
        await other.close()
    await put(store, "a", response(1000))
    await store.close()


async def test_many_workers_meet_the_damage_at_once_and_what_they_were_told_is_kept(path: Path) -> None:
    await fill(path, 100)
    stores = [opened(path) for _ in range(4)]
    for store in stores:
        assert await names(store, "a", "r0") == ["r0"]
    leaves = pages(path, 13)

    async def write(store: SqliteResponseStore, first: int) -> set[int]:
        return {number for number in range(first, first + 60) if await tried(store, "a", response(number)) is None}

    tasks = [asyncio.ensure_future(write(store, 1000 * number)) for number, store in enumerate(stores, 1)]
    for at in (3, 9):
        await asyncio.sleep(0.03)
        damage(path, leaves[at])
        await asyncio.gather(*(there(store, 100) for store in stores))
    for first, told in enumerate(await asyncio.gather(*tasks), 1):
        assert len(told) == 60
        for store in stores:
            assert await there(store, 60, first=1000 * first) == told
    assert len(await there(stores[0], 100)) > 80
    await asyncio.gather(*(store.close() for store in stores))
    again = opened(path)
    assert [len(await there(again, 60, first=1000 * first)) for first in (1, 2, 3, 4)] == [60] * 4
    await again.close()


SLOW = """
import asyncio, sys, time
from pathlib import Path
from antiphon.storage import sqlite_responses
sound = sqlite_responses._sound
def slow(row):
    print("row", flush=True)
    time.sleep(0.05)
    return sound(row)
sqlite_responses._sound = slow
async def main():
    store = sqlite_responses.SqliteResponseStore(Path(sys.argv[1]), timeout=60.0)
    told = asyncio.get_running_loop().create_future()
    store.find("a", [f"r{number}" for number in range(100)], told.set_result)
    await told
asyncio.run(main())
"""


def killed_while_it_saves(path: Path) -> None:
    worker = subprocess.Popen([sys.executable, "-c", SLOW, str(path)], stdout=subprocess.PIPE, text=True)
    assert worker.stdout is not None
    try:
        deadline = time.monotonic() + 60
        while not path.with_name("responses.db.new").exists() or path.exists():
            assert worker.stdout.readline(), "it has not begun to save"
            assert time.monotonic() < deadline
    finally:
        worker.send_signal(signal.SIGKILL)
        worker.wait(20)
        worker.stdout.close()
    assert not path.exists()


async def test_a_worker_that_is_killed_while_it_saves_loses_nothing(path: Path) -> None:
    await fill(path, 100)
    damage(path, pages(path, 13)[30])
    for _ in range(2):
        killed_while_it_saves(path)
    store = opened(path)
    assert len(await there(store, 100)) >= 96
    assert {one.name for one in path.parent.iterdir()} >= {"responses.db", "responses.db.damaged-1"}
    assert not list(path.parent.glob("*.new*"))
    assert not list(path.parent.glob("*.mending"))
    await store.close()


@pytest.mark.parametrize("ends", [("",), ("-wal",), ("-shm",), ("-wal", "-shm"), ("", "-wal", "-shm")])
async def test_files_that_are_deleted_under_running_workers_are_noticed(
    path: Path, ends: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    stores = [opened(path) for _ in range(3)]
    for number, store in enumerate(stores):
        await put(store, "a", response(number))
    for end in ends:
        path.with_name(path.name + end).unlink()
    for number, store in enumerate(stores, 10):
        await put(store, "a", response(number))
        other = stores[(number + 1) % 3]
        assert await there(other, 1, first=number) == {number}
    whole = "" not in ends
    assert await there(stores[0], 3) == (set(range(3)) if whole else set())
    said = lines(caplog)
    if whole:
        assert "files beside it were deleted while it was in use" in said
        assert "3 responses could be read and are kept on, 0 could not be read" in said
    else:
        assert said.count("it was deleted while it was in use, and with it 3 responses") == 1
    await asyncio.gather(*(store.close() for store in stores))
    again = opened(path)
    assert await there(again, 3, first=10) == {10, 11, 12}
    await again.close()


async def test_a_folder_that_is_deleted_under_running_workers_is_made_anew(path: Path) -> None:
    stores = [opened(path) for _ in range(2)]
    for number, store in enumerate(stores):
        await put(store, "a", response(number))
    shutil.rmtree(path.parent)
    assert await there(stores[0], 2) == set()
    for number, store in enumerate(stores, 10):
        await put(store, "a", response(number))
    for store in (*stores, opened(path)):
        assert await there(store, 20) == {10, 11}
        await store.close()


async def test_a_file_that_was_put_in_the_place_of_the_old_one_is_used(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    await fill(path, 5)
    backup = path.with_name("backup")
    backup.write_bytes(content(path))
    store = opened(path)
    await put(store, "a", response(5))
    for end in ("-wal", "-shm"):
        path.with_name(path.name + end).unlink()
    backup.rename(path)
    await put(store, "a", response(6))
    assert await there(store, 7) == {0, 1, 2, 3, 4, 6}
    assert "another file was put in its place" in lines(caplog)
    await store.close()


async def test_a_file_of_another_layout_is_put_aside(path: Path) -> None:
    path.parent.mkdir()
    with contextlib.closing(sqlite3.connect(path)) as old, old:
        old.execute("CREATE TABLE responses (tenant TEXT, id TEXT, used REAL)")
        old.execute("INSERT INTO responses VALUES ('a', 'r1', 1.0)")
    store = opened(path)
    await put(store, "a", response(1))
    assert path.with_name("responses.db.damaged-1").exists()
    await store.close()


def take_all_room(filler: Path) -> None:
    with filler.open("ab", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))


@pytest.fixture
def small_disk(path: Path) -> Iterator[None]:
    path.parent.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(path.parent)], capture_output=True, text=True, check=False
    )
    if made.returncode:
        pytest.skip(f"only on machines where file systems may be mounted: {made.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(path.parent)], check=True)


@pytest.mark.usefixtures("small_disk")
async def test_what_cannot_be_saved_on_a_full_disk_is_saved_when_there_is_room(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await fill(path, 100)
    damage(path, pages(path, 13)[7])
    filler = path.with_name("filler")
    take_all_room(filler)
    store = opened(path)
    for _ in range(3):
        assert isinstance(await conversation(store, "a", "r99"), CapacityError)
    assert "the disk is full" in lines(caplog)
    assert "free some space there" in lines(caplog)
    filler.unlink()
    assert len(await there(store, 100)) > 90
    assert len(list(path.parent.glob("*.damaged-?"))) == 1
    await store.close()


async def test_a_file_that_another_process_holds_locked_is_named_as_that(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = opened(path, timeout=0.6)
    await put(store, "a", response(1))
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        began = time.monotonic()
        assert isinstance(await tried(store, "a", response(2)), CapacityError)
        assert 0.25 < time.monotonic() - began < 5
        other.execute("ROLLBACK")
    assert f"the store of responses, {path}: another process holds it locked (after 0." in lines(caplog)
    assert "say `store: false`" in lines(caplog)
    assert "fuser" in lines(caplog)
    assert "no answer within" not in lines(caplog)
    await put(store, "a", response(2))
    await store.close()


async def test_a_disk_that_hangs_is_named_as_that(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = opened(path, timeout=0.2)
    store._file.thread.submit(time.sleep, 0.5)
    assert isinstance(await tried(store, "a", response(1)), CapacityError)
    assert "no answer within 0.2 s: the disk is slow or hangs" in lines(caplog)
    await store.close()


async def test_a_place_that_cannot_be_written_is_named_as_that(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path.parent.write_text("not a folder")
    store = opened(path)
    assert isinstance(await tried(store, "a", response(1)), CapacityError)
    assert "File exists" in lines(caplog) or "Not a directory" in lines(caplog)
    await store.close()


async def test_the_log_says_why_a_response_is_not_kept_though_the_store_works(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    store = SqliteResponseStore(path, bounds=ResponseBounds(max_bytes=100_000), timeout=10.0)
    await put(store, "a", response(1, 60_000))
    assert isinstance(await tried(store, "a", response(2, 200_000)), CapacityError)
    assert "does not fit into a store of 100000 bytes" in lines(caplog)
    caplog.clear()
    store._told.clear()
    assert isinstance(await tried(store, "a", response(3, 60_000, "r1")), CapacityError)
    assert "the conversation that 'r3' ends has" in lines(caplog)
    assert "server.responses.max_mb" in lines(caplog)
    assert await delete(store, "a", "r1")
    assert isinstance(await tried(store, "a", response(3, 60_000, "r1")), PreviousResponseNotFound)
    assert "a response is not kept" in lines(caplog)
    assert "'r1'" in lines(caplog)
    assert store.stats().errors == 3
    await store.close()
