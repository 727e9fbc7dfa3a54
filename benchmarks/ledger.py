"""``python -m benchmarks ledger``: processor time of an uncontended reservation and of its settlement."""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
import uvloop

from antiphon.core.clock import SystemClock
from antiphon.core.ledger import FOREVER, Hold, Ledger, Limit, Outcome, Reservation, Window
from antiphon.dispatch.coordinator.client import CoordinatorLedger
from antiphon.dispatch.coordinator.journal import Journal
from antiphon.dispatch.coordinator.link import CoordinatorLink
from antiphon.dispatch.coordinator.server import LedgerServer
from antiphon.storage.memory_ledger import MemoryLedger
from antiphon.transport.listeners import unix_listener

PROMISE = 3.0
"""Microseconds of an uncontended reservation of one account, at most."""

BATCH = 32
PLENTY = 10**12
CASES: dict[str, tuple[Window, ...]] = {
    "balance": (FOREVER,),
    "calendar minute": (Window("calendar", 60),),
    "sliding minute": (Window("sliding", 60),),
    "requests, tokens, places, money": (Window("calendar", 60), Window("sliding", 60), FOREVER, Window("month")),
}


class Measured(msgspec.Struct, frozen=True):
    """Medians, microseconds of processor time."""

    reserve: float
    settle: float


async def measure(ledger: Ledger, name: str, windows: Sequence[Window], repeats: int, pause: float) -> Measured:
    """Time batches of reservations that need no round trip, and of their settlements."""
    limits = [(f"{name}/{index}", Limit(PLENTY, window)) for index, window in enumerate(windows)]
    amounts = [3] * len(windows)
    reserving: list[float] = []
    settling: list[float] = []
    for _ in range(repeats):
        before = time.thread_time_ns()
        made = [ledger.reserve([Hold(account, 10, limit) for account, limit in limits], _later) for _ in range(BATCH)]
        between = time.thread_time_ns()
        for reservation in made:
            if isinstance(reservation, Reservation):
                ledger.settle(reservation, amounts)
        after = time.thread_time_ns()
        if all(isinstance(reservation, Reservation) for reservation in made):
            reserving.append((between - before) / 1000 / BATCH)
            settling.append((after - between) / 1000 / BATCH)
        await asyncio.sleep(pause)
    return Measured(statistics.median(reserving), statistics.median(settling))


def _later(outcome: Outcome) -> None:
    """A reservation that needed a round trip, and is none of those that are measured."""


async def round_trip(ledger: Ledger, repeats: int) -> float:
    """Median microseconds, of wall time, until the coordinator has answered at a limit."""
    taken: list[float] = []
    for _ in range(repeats):
        told: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        before = time.perf_counter()
        outcome = ledger.reserve([Hold("tight", 1, Limit(1))], told.set_result) or await told
        taken.append((time.perf_counter() - before) * 1e6)
        if isinstance(outcome, Reservation):
            ledger.release(outcome)
    return statistics.median(taken)


async def run(repeats: int) -> int:
    """Print the table. Returns 1 where the promise is not kept."""
    worst = 0.0
    print("us of processor time, uncontended        reserve   settle")
    with tempfile.TemporaryDirectory(prefix="ap-") as folder:
        server = LedgerServer(Journal(Path(folder) / "journal"), SystemClock())
        path = f"{folder}/ledger"
        await server.listen(unix_listener(path))
        shared = CoordinatorLedger(SystemClock(), "benchmark")
        link = CoordinatorLink(shared, path)
        await link.ready(10.0)
        # the coordinator needs a moment to grant the next ones in advance
        cases: list[tuple[str, Ledger, float]] = [("memory", MemoryLedger(), 0.0), ("coordinator", shared, 0.003)]
        for kind, ledger, pause in cases:
            for name, windows in CASES.items():
                measured = await measure(ledger, f"{kind}/{name}", windows, repeats, pause)
                worst = max(worst, measured.reserve if len(windows) == 1 else 0.0)
                print(f"{kind + ', ' + name:40} {measured.reserve:7.2f}  {measured.settle:7.2f}")
        print(f"round trip at a limit, wall time: {await round_trip(shared, repeats):.0f} us")
        await link.close()
        await server.close()
    kept = worst <= PROMISE
    print(f"promise: <= {PROMISE:g} us to reserve at one account: {worst:.2f}, {'kept' if kept else 'NOT KEPT'}")
    return 0 if kept else 1


def main(arguments: list[str]) -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks ledger", description=__doc__)
    parser.add_argument("--repeats", type=int, default=300, help="batches of 32 reservations")
    return uvloop.run(run(parser.parse_args(arguments).repeats))
