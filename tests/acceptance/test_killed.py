"""kill -9 of each kind of process under load: others do not notice, and it comes back."""

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import openai
import pytest

from antiphon.testing import MockUpstream
from tests.acceptance.gateway import PATIENCE, Gateway, until

WORKERS = 4

pytestmark = pytest.mark.timeout(200)


class Called(Gateway):
    """One with several workers, and callers that call it all the time."""

    def __init__(self, folder: Path, upstream: MockUpstream) -> None:
        super().__init__(folder, upstream, workers=WORKERS)
        self.good = 0
        self.bad: list[openai.OpenAIError] = []
        self._over = threading.Event()
        self.callers = [threading.Thread(target=self._call_on) for _ in range(4)]
        for caller in self.callers:
            caller.start()

    def leave(self) -> None:
        """Let the callers leave."""
        self._over.set()
        for caller in self.callers:
            caller.join(PATIENCE)

    def kill(self, name: str) -> None:
        """Kill a process and wait until its successor is ready."""
        old = next(row["pid"] for row in self.processes() if row["name"] == name)
        os.kill(old, signal.SIGKILL)
        until(lambda: self._back(name, old))

    def _back(self, name: str, old: int) -> bool:
        try:
            return any(row["name"] == name and row["state"] == "ready" and row["pid"] != old for row in self.processes())
        except OSError:  # the question went to the one that was killed, or the control plane is on its way back
            return False

    def _call_on(self) -> None:
        while not self._over.is_set():
            with openai.OpenAI(base_url=f"{self.url}/v1", api_key="none", max_retries=0, timeout=PATIENCE) as client:
                for _ in range(20):
                    try:
                        client.chat.completions.create(model="mock-model", messages=[{"role": "user", "content": "hi"}])
                        self.good += 1
                    except openai.OpenAIError as error:
                        self.bad.append(error)


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Called]:
    with MockUpstream() as upstream:
        running = Called(tmp_path, upstream)
        try:
            yield running
        finally:
            running.leave()
            code = running.stop()
        assert code == 0


def goes_on(gateway: Called) -> None:
    so_far = gateway.good
    until(lambda: gateway.good > so_far + 40)


def test_services_that_are_killed_cost_no_call(gateway: Called) -> None:
    goes_on(gateway)
    for name in [row["name"] for row in gateway.processes() if row["role"] != "worker"]:
        gateway.kill(name)
        goes_on(gateway)
    assert gateway.bad == []


def test_a_worker_that_is_killed_costs_the_calls_that_it_had_and_no_other(gateway: Called) -> None:
    goes_on(gateway)
    for number in range(WORKERS):
        gateway.kill(f"worker-{number}")
        goes_on(gateway)
    assert all(isinstance(error, openai.APIConnectionError) for error in gateway.bad), gateway.bad
    assert len(gateway.bad) <= WORKERS * len(gateway.callers)


def test_nobody_outlives_the_supervisor(tmp_path: Path) -> None:
    with MockUpstream() as upstream:
        gateway = Called(tmp_path, upstream)
        pids = [row["pid"] for row in gateway.processes()]
        gateway.process.kill()
        until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))
        gateway.process.wait(PATIENCE)
        gateway.leave()
