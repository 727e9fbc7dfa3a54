"""What callers did is recorded, whatever happens to the process that records it."""

import json
import os
import signal
import urllib.request
from collections.abc import Iterator

import pytest

from antiphon.testing import MockUpstream
from tests.acceptance.gateway import Gateway, until

CALL = json.dumps({"model": "mock-model", "messages": [{"role": "user", "content": "hi"}]}).encode()

pytestmark = pytest.mark.timeout(200)


class Recorded(Gateway):
    """One whose records are asked for."""

    def call(self) -> str:
        """A call's request id; it must succeed."""
        self.upstream.chat("hello")
        request = urllib.request.Request(f"{self.url}/v1/chat/completions", CALL, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return str(answer.headers["x-request-id"])

    def control_pid(self) -> int:
        return next(row["pid"] for row in self.processes() if row["role"] == "control")

    def recorded(self) -> list[str]:
        try:
            return [row["id"] for row in self.get("/admin/calls?limit=1000")["data"]]
        except OSError:  # the control plane is on its way back
            return []

    def metric(self, name: str) -> float:
        return sum(float(line.split()[-1]) for line in self.get("/metrics").splitlines() if line.startswith(name))


@pytest.fixture(scope="module", params=[1, 4])
def gateway(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    with MockUpstream() as upstream:
        running = Recorded(tmp_path_factory.mktemp("records"), upstream, workers=request.param)
        yield running
        assert running.stop() == 0


def test_finished_calls_are_listed_latest_first(gateway: Recorded) -> None:
    first, second = gateway.call(), gateway.call()
    until(lambda: {first, second} <= set(gateway.recorded()), gateway.recorded)
    [latest] = [row for row in gateway.get("/admin/calls?limit=1000")["data"] if row["id"] == second]
    assert (latest["model"], latest["target"], latest["status"]) == ("mock-model", "mock/mock-model", 200)
    assert gateway.get("/admin/calls?model=other")["data"] == []


def test_calls_made_while_the_control_plane_is_dead_are_recorded_once_it_is_back(gateway: Recorded) -> None:
    os.kill(gateway.control_pid(), signal.SIGKILL)
    made = [gateway.call() for _ in range(20)]
    until(lambda: set(made) <= set(gateway.recorded()), gateway.recorded)
    recorded = gateway.recorded()
    assert len(recorded) == len(set(recorded))
    assert gateway.metric("antiphon_events_lost_total") == 0


def test_a_control_plane_that_hangs_holds_up_no_call_and_hears_of_all(gateway: Recorded) -> None:
    pid = gateway.control_pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        made = [gateway.call() for _ in range(50)]
        until(lambda: any(gateway.data.glob("events/*.spill")), lambda: list(gateway.data.rglob("*")))
        made += [gateway.call() for _ in range(50)]
    finally:
        os.kill(pid, signal.SIGCONT)
    until(lambda: set(made) <= set(gateway.recorded()), gateway.recorded)
    recorded = gateway.recorded()
    assert len(recorded) == len(set(recorded))
    assert gateway.metric("antiphon_events_spilled_total") > 0
    until(lambda: gateway.metric("antiphon_events_spill_bytes") == 0)
