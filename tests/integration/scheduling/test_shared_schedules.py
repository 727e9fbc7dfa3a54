"""Several workers and one queue: the coordinator schedules the calls of all of them."""

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest

from antiphon.testing import Delay, Gate, MockUpstream
from tests.integration.gateway.data_plane import WholeServer
from tests.integration.scheduling.streams import HI

WORKERS = 4


@pytest.fixture
def upstream() -> Iterator[MockUpstream]:
    with MockUpstream() as mock:
        yield mock


@pytest.fixture
def server(tmp_path: Path, upstream: MockUpstream) -> Iterator[WholeServer]:
    route = "{name: m, policy: least-tokens, max_calls: 2, adaptive: false, p1: {floor: 0}, p2: {floor: 0}}"
    rows = f"providers: [{{name: p, url: '{upstream.url}/v1', models: [m]}}]\nroutes: [{route}]\n"
    running = WholeServer(rows, tmp_path, WORKERS)
    yield running
    running.stop()


def ask(server: WholeServer, tier: str = "1") -> httpx2.Response:
    """One call on a connection of its own, so that the kernel chooses the worker."""
    body = {"model": "m", "messages": [{"role": "user", "content": "hello"}], "stream": True}
    return httpx2.post(f"{server.url}/v1/chat/completions", json=body, headers={"x-antiphon-tier": tier}, timeout=30)


def wait_in_flight(server: WholeServer, count: int) -> None:
    deadline = time.monotonic() + 10
    while True:
        lines = httpx2.get(f"{server.url}/metrics", timeout=10).text.splitlines()
        if sum(float(line.split()[-1]) for line in lines if line.startswith("antiphon_requests_in_flight")) >= count:
            return
        assert time.monotonic() < deadline, lines
        time.sleep(0.02)


def test_a_limit_holds_over_all_workers(server: WholeServer, upstream: MockUpstream) -> None:
    upstream.script(Delay(0.02), *HI, times=None)
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: ask(server), range(80)))
    assert {answer.status_code for answer in answers} == {200}
    assert upstream.max_in_flight == 2


def test_there_is_one_order(server: WholeServer, upstream: MockUpstream) -> None:
    gate = Gate()
    upstream.script(gate, *HI, times=2).script(Delay(0.2), *HI, times=None)
    order: list[str] = []

    def call(tier: str) -> None:
        assert ask(server, tier).status_code == 200
        order.append(tier)

    with ThreadPoolExecutor(20) as pool:
        running = [pool.submit(call, "1") for _ in range(2)]
        assert upstream.wait_requests(2)
        running += [pool.submit(call, "2") for _ in range(6)]
        wait_in_flight(server, 8)
        running += [pool.submit(call, "0") for _ in range(6)]
        wait_in_flight(server, 14)
        gate.open()
        for future in running:
            future.result(30)
    assert order[2:8].count("0") >= 5, f"two run at once, so that neighbours may change places: {order}"
    assert order[8:].count("2") >= 5


def test_a_coordinator_that_is_killed_costs_no_call(server: WholeServer, upstream: MockUpstream) -> None:
    upstream.script(Delay(0.05), *HI, times=None)
    (coordinator,) = pids(server, "coordinator")
    with ThreadPoolExecutor(12) as pool:
        running = [pool.submit(ask, server) for _ in range(120)]
        assert upstream.wait_requests(10)
        os.kill(coordinator, signal.SIGKILL)
        answers = [future.result(30) for future in running]
    assert {answer.status_code for answer in answers} == {200}
    assert len(upstream.requests) == 120, "none was asked twice"


def test_a_worker_that_is_killed_frees_its_places(server: WholeServer, upstream: MockUpstream) -> None:
    gate = Gate()
    workers = pids(server, "worker")
    assert len(workers) == WORKERS
    upstream.script(gate, *HI, times=2).script(*HI, times=None)
    with ThreadPoolExecutor(8) as pool:
        for _ in range(2):
            pool.submit(ask, server)
        assert upstream.wait_requests(2)
        for worker in workers:
            os.kill(worker, signal.SIGKILL)
        deadline = time.monotonic() + 20
        while True:
            try:
                if ask(server).status_code == 200:
                    break
            except httpx2.HTTPError:
                pass  # a connection that a killed worker had
            assert time.monotonic() < deadline
        gate.open()


def pids(server: WholeServer, role: str) -> list[int]:
    """The processes of that role."""
    rows = httpx2.get(f"{server.url}/admin/processes", timeout=10).json()["processes"]
    return [row["pid"] for row in rows if row["role"] == role]
