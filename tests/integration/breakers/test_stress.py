"""Real processes: a target that dies and recovers, a worker and the coordinator killed; all views agree, and trials are bounded."""

import shutil
import signal
import tempfile
import time
from pathlib import Path

import pytest

from tests.integration.coordinated import Coordinated

WORKER = Path(__file__).with_name("worker_program.py")
LEASE = 2.0
WORKERS = 4
TRIALS = 5


class Stage(Coordinated):
    """With workers that call a target, which is dead while ``dead`` exists, and log how they see its breaker."""

    def __init__(self, folder: Path):
        super().__init__(folder, LEASE)
        self.dead = folder / "dead"
        self.logs = [folder / f"worker-{number}.log" for number in range(WORKERS)]
        self.workers = [self.start(WORKER, self.socket, str(log), str(self.dead)) for log in self.logs]

    def said(self, number: int) -> list[str]:
        return self.logs[number].read_text().splitlines() if self.logs[number].exists() else []

    def last(self, numbers) -> set[str]:
        """How the workers see the breaker: the last state of each."""
        states = [[line for line in self.said(number) if not line.startswith(("trial", "ready"))] for number in numbers]
        return {lines[-1] if lines else "closed" for lines in states}

    def until(self, condition, within=15.0):
        deadline = time.monotonic() + within
        while not condition():
            assert time.monotonic() < deadline, [self.said(number)[-3:] for number in range(WORKERS)]
            time.sleep(0.02)

    def trials(self) -> list[int]:
        """Numbers of all trials that the coordinator gave out, in order."""
        lines = [line.split() for number in range(WORKERS) for line in self.said(number)]
        return sorted(int(words[1]) for words in lines if words[0] == "trial" and int(words[1]) > 0)


@pytest.fixture
def stage():
    folder = Path(tempfile.mkdtemp(prefix="ap-"))
    stage = Stage(folder)
    yield stage
    stage.end()
    shutil.rmtree(folder)


@pytest.mark.timeout(110)
def test_all_workers_agree_whoever_is_killed(stage):
    everybody = range(WORKERS)
    stage.until(lambda: all("ready" in stage.said(number) for number in everybody), 30)

    stage.dead.touch()
    stage.until(lambda: stage.last(everybody) <= {"open", "half_open"})
    stage.until(lambda: len(stage.trials()) >= 2 * TRIALS)
    trials = stage.trials()
    assert len(trials) == len(set(trials)), "a trial was given to two workers"
    openings = max(stage.said(number).count("open") for number in everybody)
    assert len(trials) <= TRIALS * openings, "each half-open period follows an opening"

    stage.workers[0].send_signal(signal.SIGKILL)  # with trials in its hands, or without
    living = range(1, WORKERS)
    stage.coordinator.kill()
    stage.coordinator.wait(10)
    stage.coordinator = stage.start_coordinator()
    before = len(stage.trials())
    stage.until(lambda: len(stage.trials()) > before)

    stage.dead.unlink()
    stage.until(lambda: stage.last(living) == {"closed"})
