import asyncio
import contextlib

import pytest

from antiphon.storage.memory_board import MemoryBreakerBoard
from antiphon.testing import FakeBreakerBoard, FakeClock, board_contract


class Bench:
    def __init__(self, kind):
        self.clock = FakeClock()
        self.board = kind(self.clock)

    async def open(self):
        return self.board

    async def kill(self, board): ...

    async def advance(self, seconds):
        self.clock.advance(seconds)


@pytest.mark.parametrize("check", board_contract.CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("kind", [MemoryBreakerBoard, FakeBreakerBoard])
def test_memory(check, kind):
    @contextlib.asynccontextmanager
    async def bench():
        yield Bench(kind)

    asyncio.run(check(bench))
