import asyncio
import contextlib
import threading

import pytest

from antiphon.core.cache_store import Namespace
from antiphon.storage.sqlite_cache import SqliteCacheStore
from antiphon.testing import FakeClock, cache_contract
from antiphon.testing.cache_contract import found, look


class Bench:
    shared = True
    max_bytes = 500_000

    def __init__(self, folder):
        self.clock = FakeClock()
        self.path = folder / "cache.db"
        self.stores = []
        self.free = threading.Event()

    async def open(self):
        # patient while it works, so that a busy machine fails no test
        self.stores.append(SqliteCacheStore(self.path, clock=self.clock, max_bytes=self.max_bytes, timeout=4.0))
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


@pytest.fixture
def make(tmp_path):
    @contextlib.asynccontextmanager
    async def bench():
        bench = Bench(tmp_path)
        try:
            yield bench
        finally:
            await bench.close()

    return bench


@pytest.mark.parametrize("check", cache_contract.CHECKS, ids=lambda check: check.__name__)
def test_sqlite(check, make):
    asyncio.run(check(make))


async def damaged(make):
    tenant = Namespace("a", 1)
    async with make() as bench:
        store = await bench.open()
        store.put(tenant, b"k", b"v", 60.0)
        assert await found(store, tenant, b"k") == b"v"
        await store.close()
        bench.stores.clear()
        bench.path.write_bytes(b"no database" * 1000)
        again = await bench.open()
        assert (await look(again, tenant, b"k")).reason == "absent"
        again.put(tenant, b"k", b"w", 60.0)
        assert await found(again, tenant, b"k") == b"w"
        assert again.stats().errors == 0


def test_a_file_that_is_no_database_is_begun_anew(make):
    asyncio.run(damaged(make))


async def kept(make):
    tenant = Namespace("a", 1)
    async with make() as bench:
        store = await bench.open()
        store.put(tenant, b"k", b"v", 60.0)
        await store.close()
        bench.stores.clear()
        again = await bench.open()
        assert await found(again, tenant, b"k") == b"v"
        assert (again.stats().entries, again.stats().bytes > 0) == (1, True)


def test_entries_outlive_the_process(make):
    asyncio.run(kept(make))
