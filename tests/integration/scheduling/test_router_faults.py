"""Ten faults of cluster routers, drilled over real HTTP: a whole server, mock replicas in a process of their own.

One of them is no test here: 40 is about processor time, which ``benchmarks`` measures; that a call looks at as many replicas in a
large fleet as in a small one is a unit test. 34 starts two whole servers that hear of each other by what the replicas tell alone.
"""

import sys

import msgspec
import pytest

from benchmarks.scheduler.drills.faults import FAULTS, Fault, drill
from benchmarks.scheduler.drills.routers import OURS

LOOSER = {36: 10.0}
"""Limits for machines that do other things meanwhile, where the figure is a ratio of times; a plain queue has 40 and more."""
TESTED = [msgspec.structs.replace(fault, limit=LOOSER.get(fault.number, fault.limit)) for fault in FAULTS if fault.number != 40]


@pytest.mark.timeout(180)
@pytest.mark.parametrize("fault", TESTED, ids=[str(fault.number) for fault in TESTED])
def test_we_stand_it(fault: Fault) -> None:
    found = drill(fault, OURS, sys.executable, "balanced")
    assert found.passed, (fault.name, fault.figure, found)


@pytest.mark.timeout(180)
def test_a_policy_that_knows_neither_tokens_nor_prefixes_does_not() -> None:
    fault = next(fault for fault in FAULTS if fault.number == 33)
    found = drill(fault, OURS, sys.executable, "round-robin")
    assert not found.passed, found
