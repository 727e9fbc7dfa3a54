"""The script that Redis runs agrees with the pure machine, whatever the order of calls, trips and time."""

import asyncio
import itertools

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

pytest.importorskip("redis.asyncio", reason="needs redis: pip install antiphon[redis]")

from antiphon.storage.redis_board import RedisBreakerBoard
from antiphon.storage.redis_operations import connect
from antiphon.testing import FakeClock
from tests.unit.dispatch.coordinator.breakers.test_against_machine import MemoryMachine

NUMBERS = itertools.count()
BOARDS = 2


def test_redis_agrees_with_the_machine(redis_server):
    class RedisMachine(MemoryMachine):
        def make(self):
            self.clock = FakeClock()
            self.runner = asyncio.Runner()
            self.runner.run(self.open())

        async def open(self):
            prefix = f"test{next(NUMBERS)}:"
            self.clients = [connect(f"unix://{redis_server.socket}") for _ in range(BOARDS)]
            named = enumerate(self.clients)
            self.boards = [RedisBreakerBoard(client, f"s{number}", clock=self.clock, prefix=prefix) for number, client in named]
            for board in self.boards:
                while not board.stats().connected:
                    await board.poll()

        async def talk(self):
            for board in self.boards:
                board._board.flush()
                await board.poll()
            for board in self.boards:
                await board.poll()

        def hear(self):
            self.runner.run(self.talk())

        def rest(self):
            self.clock.advance(0.06)

        def teardown(self):
            async def close():
                for board in self.boards:
                    await board.close()
                for client in self.clients:
                    await client.aclose()
                await asyncio.sleep(0)  # a closed connection lets go of its socket in the loop's next turn

            self.runner.run(close())
            self.runner.close()

    options = settings(max_examples=8, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck))
    run_state_machine_as_test(RedisMachine, settings=options)
