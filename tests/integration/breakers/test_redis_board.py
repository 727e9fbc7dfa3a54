import asyncio
import contextlib
import itertools

import pytest

pytest.importorskip("redis.asyncio", reason="needs redis: pip install antiphon[redis]")

from antiphon.storage.redis_board import RedisBreakerBoard
from antiphon.storage.redis_operations import connect
from antiphon.testing import FakeClock, board_contract
from antiphon.testing.board_contract import POLICY, eventually, opened, permitted, refused, told, until

NUMBERS = itertools.count()


class Bench:
    def __init__(self, redis_server):
        self.clock = FakeClock()
        self.server = redis_server
        self.prefix = f"test{next(NUMBERS)}:"
        self.boards = []
        self.clients = []

    async def open(self):
        self.clients.append(connect(f"unix://{self.server.socket}"))
        board = RedisBreakerBoard(self.clients[-1], f"session-{len(self.clients)}", clock=self.clock, prefix=self.prefix)
        self.boards.append(board)
        await eventually(board.stats, lambda stats: stats.connected)
        return board

    async def kill(self, board):
        await board.abandon()
        self.boards.remove(board)

    async def advance(self, seconds):
        for board in self.boards:
            await board.poll()
        self.clock.advance(seconds)
        for board in self.boards:
            await board.poll()

    async def close(self):
        for board in self.boards:
            await board.close()
        for client in self.clients:
            await client.aclose()


@contextlib.asynccontextmanager
async def bench_on(redis_server):
    bench = Bench(redis_server)
    try:
        yield bench
    finally:
        await bench.close()


@pytest.mark.parametrize("check", board_contract.CHECKS, ids=lambda check: check.__name__)
def test_redis(check, redis_server):
    asyncio.run(check(lambda: bench_on(redis_server)))


async def while_redis_is_gone(redis_server):
    async with bench_on(redis_server) as bench:
        one, two = await bench.open(), await bench.open()
        await opened(one, "before", (one, two))
        await one.poll()
        redis_server.kill()
        await eventually(one.stats, lambda stats: not stats.connected)
        await refused(one, "before")
        await told(one, "meanwhile", [False] * POLICY.minimum_calls)
        await until(one, "meanwhile", "open")
        assert two.view("meanwhile").state == "closed"
        bench.clock.advance(POLICY.open_for)
        permits = [await permitted(one, "before") for _ in range(POLICY.trials // 2)]
        await refused(one, "before")
        for permit in permits:
            one.report(permit, None)
        one.trip("meanwhile", POLICY, 100.0)
        await asyncio.to_thread(redis_server.start)
        await until(two, "meanwhile", "open")


def test_while_redis_is_gone_each_judges_alone_and_tells_what_it_knows_afterwards(redis_server):
    try:
        asyncio.run(while_redis_is_gone(redis_server))
    finally:
        redis_server.kill()
        redis_server.start()


async def with_the_servers_time(redis_server):
    client = connect(f"unix://{redis_server.socket}")
    board = RedisBreakerBoard(client, "real", prefix=f"test{next(NUMBERS)}:")
    await opened(board, "a", (board,))
    refusal = await refused(board, "a")
    assert 0 < refusal.retry_after <= POLICY.open_for
    await board.close()
    await client.aclose()


def test_the_servers_time_is_used_without_a_clock(redis_server):
    asyncio.run(with_the_servers_time(redis_server))
