"""Real processes: a target that dies and recovers, a worker and the coordinator killed; all views agree, and trials are bounded."""

import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

HERE = Path(__file__).parent
COORDINATOR = HERE.parent / "ledger" / "coordinator_program.py"
WORKERS = 4
TRIALS = 5


class Stage:
    def __init__(self, folder: Path):
        self.folder = folder
        self.socket = str(folder / "shared")
        self.dead = folder / "dead"
        self.processes: list[subprocess.Popen[bytes]] = []
        self.coordinator = self.start_coordinator()
        self.logs = [folder / f"worker-{number}.log" for number in range(WORKERS)]
        self.workers = [self.start(HERE / "worker_program.py", self.socket, str(log), str(self.dead)) for log in self.logs]

    def start(self, program: Path, *arguments: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen([sys.executable, program, *arguments], stdout=subprocess.PIPE)
        self.processes.append(process)
        return process

    def start_coordinator(self) -> subprocess.Popen[bytes]:
        process = self.start(COORDINATOR, str(self.folder / "journal"), self.socket, "2.0")
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        return process

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

    def end(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait(10)
            assert process.stdout is not None
            process.stdout.close()


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
