import asyncio
import contextlib
import threading

import pytest

from antiphon.core.response_store import StoredResponse
from antiphon.storage.memory_responses import MemoryResponseStore
from antiphon.storage.sqlite_responses import SqliteResponseStore
from antiphon.testing import FakeClock, FakeResponseStore, response_store_contract
from antiphon.testing.response_store_contract import BOUNDS, find, names, put, tried


class MemoryBench:
    shared = False

    def __init__(self):
        self.clock = FakeClock()
        self.store = self.make()

    def make(self):
        return MemoryResponseStore(self.clock, BOUNDS)

    async def open(self):
        return self.store

    async def advance(self, seconds):
        self.clock.advance(seconds)

    async def down(self):
        return False

    async def up(self): ...


class FakeBench(MemoryBench):
    def make(self):
        return FakeResponseStore()

    async def down(self):
        self.store.down = True
        return True

    async def up(self):
        self.store.down = False


class SqliteBench:
    shared = True

    def __init__(self, folder):
        self.clock = FakeClock()
        self.path = folder / "state" / "responses.db"
        self.stores = []
        self.free = threading.Event()

    async def open(self):
        # patient while it works, so that a busy machine fails no test
        self.stores.append(SqliteResponseStore(self.path, clock=self.clock, bounds=BOUNDS, timeout=4.0))
        return self.stores[-1]

    async def advance(self, seconds):
        self.clock.advance(seconds)

    async def down(self):
        """The disk hangs."""
        self.free.clear()
        for store in self.stores:
            store._timeout = 0.05
            store._file.thread.submit(self.free.wait, 10)
        return True

    async def up(self):
        for store in self.stores:
            store._timeout = 4.0
        self.free.set()

    async def close(self):
        self.free.set()
        for store in self.stores:
            await store.close()


@contextlib.asynccontextmanager
async def memory_bench():
    yield MemoryBench()


@contextlib.asynccontextmanager
async def fake_bench():
    yield FakeBench()


@pytest.fixture
def make(tmp_path):
    @contextlib.asynccontextmanager
    async def bench():
        bench = SqliteBench(tmp_path)
        try:
            yield bench
        finally:
            await bench.close()

    return bench


def named(check):
    return check.__name__


@pytest.mark.parametrize("check", response_store_contract.CHECKS, ids=named)
def test_memory(check):
    asyncio.run(check(memory_bench))


@pytest.mark.parametrize("check", response_store_contract.CHECKS, ids=named)
def test_sqlite(check, make):
    asyncio.run(check(make))


UNBOUNDED = {
    response_store_contract.check_bounded,
    response_store_contract.check_no_conversation_eats_itself,
    response_store_contract.check_grows_old,
    response_store_contract.check_long_conversations,
}
"""A test's own fake keeps whatever it is given, for ever."""


@pytest.mark.parametrize("check", [one for one in response_store_contract.CHECKS if one not in UNBOUNDED], ids=named)
def test_fake(check):
    asyncio.run(check(fake_bench))


async def kept(make):
    async with make() as bench:
        store = await bench.open()
        await put(store, "a", StoredResponse("1", b"{}"))
        await put(store, "a", StoredResponse("2", b"{}", previous="1"))
        await store.close()
        bench.stores.clear()
        again = await bench.open()
        assert await names(again, "a", "2") == ["1", "2"]
        assert again.stats().responses == 2
        assert bench.path.stat().st_mode & 0o077 == 0


def test_responses_outlive_the_process_and_are_for_no_other_users_eyes(make):
    asyncio.run(kept(make))


async def uses_outlive(make):
    async with make() as bench:
        store = await bench.open()
        await put(store, "a", StoredResponse("1", b"{}"))
        await bench.advance(BOUNDS.max_age * 0.9)
        assert await names(store, "a", "1") == ["1"]
        await store.close()
        bench.stores.clear()
        await bench.advance(BOUNDS.max_age * 0.9)
        assert await names(await bench.open(), "a", "1") == ["1"]


def test_what_was_used_lately_is_known_to_be_so_after_a_restart(make):
    asyncio.run(uses_outlive(make))


async def damaged(make):
    async with make() as bench:
        store = await bench.open()
        await put(store, "a", StoredResponse("1", b"{}"))
        await store.close()
        bench.stores.clear()
        bench.path.write_bytes(b"no database" * 1000)
        again = await bench.open()
        await put(again, "a", StoredResponse("3", b"{}"))
        assert await find(again, "a", "1", "3") == {"3": StoredResponse("3", b"{}")}
        assert bench.path.with_name("responses.db.damaged-1").read_bytes().startswith(b"no database")


def test_a_file_that_is_no_database_is_put_aside(make):
    asyncio.run(damaged(make))


async def unwritable(make):
    async with make() as bench:
        store = await bench.open()
        await put(store, "a", StoredResponse("1", b"{}"))
        await store.close()
        bench.stores.clear()
        reader = await bench.open()
        assert await names(reader, "a", "1") == ["1"]
        await limited(reader, bench)


async def limited(store, bench):
    """The disk is full: what is there can be read on, what comes is refused."""
    pages = await asyncio.wrap_future(store._file.thread.submit(full, store._file))
    assert pages > 0
    assert await tried(store, "a", StoredResponse("2", b"x" * 50_000)) is not None
    await asyncio.wrap_future(store._file.thread.submit(full, store._file))
    assert await names(store, "a", "1") == ["1"]
    await asyncio.wrap_future(store._file.thread.submit(store._file._disconnect))
    await put(store, "a", StoredResponse("3", b"x" * 50_000))
    assert set(await find(store, "a", "1", "2", "3")) == {"1", "3"}


def full(file):
    database = file._connect()
    pages = database.execute("PRAGMA page_count").fetchone()[0]
    return database.execute(f"PRAGMA max_page_count = {pages}").fetchone()[0]


def test_a_full_disk_stops_the_keeping_and_nothing_else(make):
    asyncio.run(unwritable(make))


async def backlog(make):
    async with make() as bench:
        store = await bench.open()
        await bench.down()
        store._timeout = 4.0
        outcomes = [asyncio.ensure_future(tried(store, "a", StoredResponse(str(number), b"x" * 100_000))) for number in range(700)]
        await asyncio.sleep(0.05)
        refused = [outcome for outcome in outcomes if outcome.done() and outcome.result() is not None]
        assert 20 <= len(refused) <= 100
        await bench.up()
        assert sum(outcome is None for outcome in await asyncio.gather(*outcomes)) == 700 - len(refused)


def test_what_waits_for_a_slow_disk_is_bounded(make):
    asyncio.run(backlog(make))
