import asyncio
import contextlib
import itertools

import pytest

pytest.importorskip("redis.asyncio", reason="needs redis: pip install antiphon[redis]")

from antiphon.storage.redis_cache import RedisCacheStore
from antiphon.storage.redis_operations import connect
from antiphon.testing import FakeClock, cache_contract
from antiphon.testing.cache_contract import A, found, look

NUMBERS = itertools.count()


class Bench:
    shared = True
    max_bytes = 500_000

    def __init__(self, redis_server):
        self.clock = FakeClock()
        self.server = redis_server
        self.prefix = f"test{next(NUMBERS)}:"
        self.stores = []
        self.clients = []

    async def open(self):
        self.clients.append(connect(f"unix://{self.server.socket}"))
        options = {"clock": self.clock, "max_bytes": self.max_bytes, "timeout": 4.0, "prefix": self.prefix}
        self.stores.append(RedisCacheStore(self.clients[-1], **options))
        return self.stores[-1]

    async def advance(self, seconds):
        self.clock.advance(seconds)

    async def down(self):
        self.server.kill()
        return True

    async def up(self):
        await asyncio.to_thread(self.server.start)

    async def close(self):
        for store in self.stores:
            await store.close()
        for client in self.clients:
            await client.aclose()


@contextlib.asynccontextmanager
async def opened(redis_server):
    bench = Bench(redis_server)
    try:
        yield bench
    finally:
        await bench.close()


@pytest.mark.parametrize("check", cache_contract.CHECKS, ids=lambda check: check.__name__)
def test_redis(check, redis_server):
    asyncio.run(check(lambda: opened(redis_server)))


async def with_the_servers_time(redis_server):
    client = connect(f"unix://{redis_server.socket}")
    store = RedisCacheStore(client, prefix=f"test{next(NUMBERS)}:", timeout=4.0)
    store.put(A, b"k", b"v", 60.0)
    assert await found(store, A, b"k") == b"v"
    assert (await look(store, A, b"other", 30.0)).reason == "absent"
    assert (await look(store, A, b"other", 30.0)).reason == "busy"
    await store.close()
    await client.aclose()


def test_the_servers_time_is_used_without_a_clock(redis_server):
    asyncio.run(with_the_servers_time(redis_server))
