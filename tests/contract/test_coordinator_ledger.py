import asyncio
import contextlib

import pytest

from antiphon.testing import ledger_contract
from tests.unit.dispatch.coordinator.rig import Rig


@contextlib.asynccontextmanager
async def bench():
    yield Rig(age=120.0)


@pytest.mark.parametrize("check", ledger_contract.CHECKS, ids=lambda check: check.__name__)
def test_coordinator(check):
    asyncio.run(check(bench))
