import asyncio
import contextlib

import pytest

from antiphon.testing import board_contract
from tests.unit.dispatch.coordinator.rig import Rig


class Bench:
    def __init__(self):
        self.rig = Rig()

    async def open(self):
        return self.rig.worker().board

    async def kill(self, board):
        (wire,) = [wire for wire in self.rig.wires if wire.board is board]
        wire.alive = False
        wire.cut()

    async def advance(self, seconds):
        self.rig.pass_time(seconds)


@contextlib.asynccontextmanager
async def bench():
    yield Bench()


@pytest.mark.parametrize("check", board_contract.CHECKS, ids=lambda check: check.__name__)
def test_coordinator(check):
    asyncio.run(check(bench))
