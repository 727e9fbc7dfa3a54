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
from antiphon.dispatch.coordinator.ledger.client import CoordinatorLedger
from antiphon.dispatch.coordinator.ledger.journal import Journal
from antiphon.dispatch.coordinator.link import CoordinatorLink
from antiphon.dispatch.coordinator.server import CoordinatorServer
from antiphon.storage.memory_ledger import MemoryLedger
from antiphon.transport.listeners import unix_listener

PROMISE = 3.0
"""Microseconds of an uncontended reservation of one account, at most."""

BATCH = 24
"""Reservations that are timed together. Two such batches fit into what the coordinator grants in advance."""

PAUSE = 0.003
"""Seconds before each pair of batches: the coordinator needs them to grant the next ones, and other code uses the caches."""

PLENTY = 10**12
CASES: dict[str, tuple[Window, ...]] = {
    "balance": (FOREVER,),
    "calendar minute": (Window("calendar", 60),),
    "sliding minute": (Window("sliding", 60),),
    "requests, tokens, places, money": (Window("calendar", 60), Window("sliding", 60), FOREVER, Window("month")),
}


class Measured(msgspec.Struct, frozen=True):
    """Medians, microseconds of processor time: of a batch after a pause, and of one right behind it."""

    cold_reserve: float
    cold_settle: float
    reserve: float
    settle: float


async def measure(ledger: Ledger, name: str, windows: Sequence[Window], repeats: int) -> Measured:
    """Time pairs of batches of reservations that need no round trip, and of their settlements; every ledger in the same way."""
    limits = [(f"{name}/{index}", Limit(PLENTY, window)) for index, window in enumerate(windows)]
    taken: list[tuple[float, float, float, float]] = []
    for _ in range(repeats):
        cold, warm = _batch(ledger, limits), _batch(ledger, limits)
        if cold is not None and warm is not None:
            taken.append((*cold, *warm))
        await asyncio.sleep(PAUSE)
    return Measured(*(statistics.median(column) for column in zip(*taken, strict=True)))


def _batch(ledger: Ledger, limits: Sequence[tuple[str, Limit]]) -> tuple[float, float] | None:
    """Microseconds to reserve and to settle, or None where a reservation needed a round trip."""
    amounts = [3] * len(limits)
    before = time.thread_time_ns()
    made = [ledger.reserve([Hold(account, 10, limit) for account, limit in limits], _later) for _ in range(BATCH)]
    between = time.thread_time_ns()
    for reservation in made:
        if isinstance(reservation, Reservation):
            ledger.settle(reservation, amounts)
    after = time.thread_time_ns()
    if not all(isinstance(reservation, Reservation) for reservation in made):
        return None
    return (between - before) / 1000 / BATCH, (after - between) / 1000 / BATCH


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
    print(f"{'us of processor time, uncontended':44} reserve   settle  cold: reserve   settle")
    with tempfile.TemporaryDirectory(prefix="ap-") as folder:
        server = CoordinatorServer(Journal(Path(folder) / "journal"), SystemClock())
        path = f"{folder}/ledger"
        await server.listen(unix_listener(path))
        shared = CoordinatorLedger(SystemClock(), "benchmark")
        link = CoordinatorLink(shared, path)
        await link.ready(10.0)
        cases: list[tuple[str, Ledger]] = [("memory", MemoryLedger()), ("coordinator", shared)]
        for kind, ledger in cases:
            for name, windows in CASES.items():
                measured = await measure(ledger, f"{kind}/{name}", windows, repeats)
                worst = max(worst, measured.reserve if len(windows) == 1 else 0.0)
                figures = (
                    f"{measured.reserve:7.2f}  {measured.settle:7.2f}  {measured.cold_reserve:12.2f}  {measured.cold_settle:7.2f}"
                )
                print(f"{kind + ', ' + name:44} {figures}")
        print(f"round trip at a limit, wall time: {await round_trip(shared, repeats):.0f} us")
        await link.close()
        await server.close()
    kept = worst <= PROMISE
    print(f"promise: <= {PROMISE:g} us to reserve at one account, warm: {worst:.2f}, {'kept' if kept else 'NOT KEPT'}")
    return 0 if kept else 1


def main(arguments: list[str]) -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks ledger", description=__doc__)
    parser.add_argument("--repeats", type=int, default=300, help=f"pairs of batches of {BATCH} reservations")
    return uvloop.run(run(parser.parse_args(arguments).repeats))
