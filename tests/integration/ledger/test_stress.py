"""Real processes: workers that are killed, a coordinator that is killed; in the end the books are equal to what was settled."""

import asyncio
import itertools
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from antiphon.core.clock import SystemClock
from antiphon.core.ledger import FOREVER
from antiphon.dispatch.coordinator.ledger.client import CoordinatorLedger
from antiphon.dispatch.coordinator.link import CoordinatorLink
from tests.integration.coordinated import Coordinated

WORKER = Path(__file__).with_name("worker_program.py")
WORKERS = 4
CALLS = 50_000
"""Of each worker, so that the two that live make 100,000 between them."""
KILLED = {0, 1}
LEASE = 2.0


@pytest.fixture
def stage():
    folder = Path(tempfile.mkdtemp(prefix="ap-"))
    stage = Coordinated(folder, LEASE)
    yield stage
    stage.end()
    shutil.rmtree(folder)


def log_of(path: Path) -> tuple[list[int], int, int]:
    """What a worker settled in order, how many of these were acknowledged, how many calls it had refused."""
    amounts, drained, refused = [], 0, 0
    for line in path.read_text().splitlines():
        if line.startswith("drained"):
            drained = int(line.split()[1])
        elif line.startswith("refused"):
            refused = int(line.split()[1])
        else:
            amounts.append(int(line))
    return amounts, drained, refused


class Watch:
    """Looks at the books while they are written."""

    def __init__(self, socket: str, capacity: int):
        self.ledger = CoordinatorLedger(SystemClock(), "watch")
        self.link = CoordinatorLink(self.ledger, socket)
        self.capacity = capacity
        self.looks = 0

    async def look(self, account: str):
        told = asyncio.get_running_loop().create_future()
        self.ledger.look(account, FOREVER, told.set_result)
        standing = await told
        if standing is not None and account == "budget":
            self.looks += 1
            assert standing.total <= self.capacity, standing
        return standing


@pytest.mark.timeout(240)
@pytest.mark.parametrize(("capacity", "tight"), [(10**9, False), (600_000, True)], ids=["plenty", "tight"])
def test_the_books_are_equal_to_what_was_settled(stage, capacity, tight):
    asyncio.run(play(stage, capacity, tight))


async def play(stage: Coordinated, capacity: int, tight: bool) -> None:
    logs = [stage.folder / f"worker-{number}.log" for number in range(WORKERS)]
    workers = [
        stage.start(WORKER, stage.socket, f"worker-{number}", str(logs[number]), str(CALLS), str(capacity), str(number))
        for number in range(WORKERS)
    ]
    watch = Watch(stage.socket, capacity)
    try:
        await watch.link.ready(20)
        await follow(stage, watch, workers, logs, tight)
    finally:
        await watch.link.close()


async def follow(stage: Coordinated, watch: Watch, workers: list[subprocess.Popen[bytes]], logs: list[Path], tight: bool) -> None:
    deadline = time.monotonic() + 200
    kills = iter(sorted(KILLED))
    for turn in itertools.count():
        await watch.look("budget")
        lines = [log.read_bytes().count(b"\n") if log.exists() else 0 for log in logs]
        if turn % 10 == 0 and min(lines) > 500 and (victim := next(kills, None)) is not None:
            workers[victim].send_signal(signal.SIGKILL)
            if victim == 1:
                stage.coordinator.kill()
                stage.coordinator.wait(10)
                stage.coordinator = await asyncio.to_thread(stage.start_coordinator)
        if all(worker.poll() is not None for worker in workers):
            break
        assert time.monotonic() < deadline, lines
        await asyncio.sleep(0.02)
    assert [worker.returncode for worker in workers] == [-9 if number in KILLED else 0 for number in range(WORKERS)]
    total = 0
    for number, log in enumerate(logs):
        amounts, drained, refused = log_of(log)
        booked = (await watch.look(f"worker-{number}")).settled
        sums = list(itertools.accumulate(amounts, initial=0))
        if number in KILLED:
            assert booked in sums[drained:], "neither lost what was acknowledged nor invented anything"
        else:
            assert booked == sums[-1]
            assert bool(refused) == tight
        total += booked
    while (standing := await watch.look("budget")).total != total:
        assert time.monotonic() < deadline, standing
        await asyncio.sleep(0.05)
    assert standing.settled == total
    assert standing.reserved == standing.escrowed == 0
    assert watch.looks > 20
