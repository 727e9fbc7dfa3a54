import asyncio
import contextlib
import itertools

import pytest

pytest.importorskip("redis.asyncio", reason="needs redis: pip install antiphon[redis]")

from antiphon.core.ledger import FOREVER, Hold, Limit, Refusal, Reservation
from antiphon.storage.redis_ledger import RedisLedger
from antiphon.storage.redis_operations import connect
from antiphon.testing import FakeClock, ledger_contract
from antiphon.testing.ledger_contract import eventually, outcome, reserved, settled

NUMBERS = itertools.count()


class Bench:
    lease = 15.0
    age = 300.0

    def __init__(self, redis_server, clock=None):
        self.clock = clock or FakeClock(unix_time=1_699_999_980.0)
        self.prefix = f"test{next(NUMBERS)}:"
        self.server = redis_server
        self.ledgers: list[RedisLedger] = []
        self.clients = []
        self.dead: list[RedisLedger] = []

    async def open(self):
        client = connect(f"unix://{self.server.socket}")
        self.clients.append(client)
        name = f"session-{len(self.ledgers)}"
        self.ledgers.append(RedisLedger(client, name, clock=self.clock, lease=self.lease, age=self.age, prefix=self.prefix))
        return self.ledgers[-1]

    async def kill(self, ledger):
        ledger.abandon()
        self.dead.append(ledger)

    async def advance(self, seconds):
        while seconds > 0:
            self.clock.advance(min(5.0, seconds))
            seconds -= 5.0
            for ledger in self.ledgers:
                if ledger not in self.dead:
                    told: asyncio.Future[object] = asyncio.get_running_loop().create_future()
                    ledger.beat(told.set_result)
                    await told

    async def close(self):
        for ledger in self.ledgers:
            if ledger not in self.dead:
                await ledger.close()
        for client in self.clients:
            await client.aclose()


@contextlib.asynccontextmanager
async def opened(redis_server):
    bench = Bench(redis_server)
    try:
        yield bench
    finally:
        await bench.close()


@pytest.mark.parametrize("check", ledger_contract.CHECKS, ids=lambda check: check.__name__)
def test_redis(check, redis_server):
    asyncio.run(check(lambda: opened(redis_server)))


async def while_redis_is_gone(redis_server):
    async with opened(redis_server) as bench:
        ledger = await bench.open()
        money, rate = Limit(100), Limit(100, outage="open")
        before = await reserved(ledger, Hold("money", 10, money))
        redis_server.kill()
        refusal = await outcome(ledger, Hold("money", 1, money))
        assert isinstance(refusal, Refusal)
        assert (refusal.reason, refusal.account) == ("unavailable", "money")
        passed = await outcome(ledger, Hold("rate", 7, rate))
        assert isinstance(passed, Reservation)
        ledger.settle(passed, [5])
        ledger.settle(before, [9])
        redis_server.start()
        await eventually(lambda: settled_if_known(ledger, "money"), 9)
        await eventually(lambda: settled_if_known(ledger, "rate"), 5)
        await reserved(ledger, Hold("money", 91, money))


async def settled_if_known(ledger, account):
    told = asyncio.get_running_loop().create_future()
    ledger.look(account, FOREVER, told.set_result)
    standing = await told
    return standing.settled if standing else -1


def test_while_redis_is_gone_money_fails_closed_rates_as_declared_and_nothing_settled_is_lost(redis_server):
    try:
        asyncio.run(while_redis_is_gone(redis_server))
    finally:
        redis_server.kill()
        redis_server.start()


async def with_the_servers_time(redis_server):
    client = connect(f"unix://{redis_server.socket}")
    ledger = RedisLedger(client, "real", prefix=f"test{next(NUMBERS)}:")
    kept = await reserved(ledger, Hold("a", 3, Limit(10)), Hold("m", 1, Limit(1)))
    ledger.settle(kept, [2, 1])
    assert await settled(ledger, "a") == 2
    await ledger.close()
    await client.aclose()


def test_the_servers_time_is_used_without_a_clock(redis_server):
    asyncio.run(with_the_servers_time(redis_server))
