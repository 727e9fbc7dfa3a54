import asyncio
import contextlib

import pytest

from antiphon.storage.memory_cache import MemoryCacheStore
from antiphon.testing import FakeCacheStore, FakeClock, cache_contract


class Bench:
    shared = False
    max_bytes = 500_000

    def __init__(self):
        self.clock = FakeClock()
        self.store = self.make()

    def make(self):
        return MemoryCacheStore(self.clock, max_bytes=self.max_bytes)

    async def open(self):
        return self.store

    async def advance(self, seconds):
        self.clock.advance(seconds)

    async def down(self):
        return False

    async def up(self): ...


class FakeBench(Bench):
    def make(self):
        return FakeCacheStore(self.clock)

    async def down(self):
        self.store.down = True
        return True

    async def up(self):
        self.store.down = False


@contextlib.asynccontextmanager
async def bench():
    yield Bench()


@contextlib.asynccontextmanager
async def fake_bench():
    yield FakeBench()


@pytest.mark.parametrize("check", cache_contract.CHECKS, ids=lambda check: check.__name__)
def test_memory(check):
    asyncio.run(check(bench))


UNBOUNDED = {cache_contract.check_bounded, cache_contract.check_keeps_bytes}
"""A test's own fake keeps whatever it is given."""


@pytest.mark.parametrize("check", [one for one in cache_contract.CHECKS if one not in UNBOUNDED], ids=lambda check: check.__name__)
def test_fake(check):
    asyncio.run(check(fake_bench))
