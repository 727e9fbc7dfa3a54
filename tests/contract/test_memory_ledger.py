import asyncio
import contextlib

import pytest

from antiphon.storage.memory_ledger import MemoryLedger
from antiphon.testing import FakeClock, ledger_contract


class Bench:
    lease = 600.0
    age = 600.0

    def __init__(self):
        self.clock = FakeClock(unix_time=1_699_999_980.0)
        self.ledger = MemoryLedger(self.clock, age=self.age)

    async def open(self):
        return self.ledger

    async def kill(self, ledger): ...

    async def advance(self, seconds):
        self.clock.advance(seconds)


@contextlib.asynccontextmanager
async def bench():
    yield Bench()


@pytest.mark.parametrize("check", ledger_contract.CHECKS, ids=lambda check: check.__name__)
def test_memory(check):
    asyncio.run(check(bench))
