"""Replicas that tell their load: a whole server hears of calls that others send there, and lives without it."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest

from antiphon.testing import Body, Delay, Gate, Hang, Header, MockUpstream, Status
from antiphon_client import AntiphonClientError, Client
from tests.integration.gateway.data_plane import EMPTY, WholeServer
from tests.integration.scheduling.streams import HI

PATIENCE = 30.0
PAGE = """\
# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{{engine="0",model_name="m"}} {running:.1f}
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{{engine="0",model_name="m"}} 0.0
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{{engine="0",model_name="m"}} 0.1
"""


@pytest.fixture
def servers() -> Iterator[list[MockUpstream]]:
    with ExitStack() as stack:
        yield [stack.enter_context(MockUpstream()) for _ in range(2)]


@pytest.fixture
def start(tmp_path: Path, servers: list[MockUpstream]) -> Iterator[Callable[[int], WholeServer]]:
    with ExitStack() as stack:

        def begin(workers: int) -> WholeServer:
            server = WholeServer(configuration(servers), tmp_path, workers)
            stack.callback(server.stop)
            return server

        yield begin


def configuration(servers: list[MockUpstream], poll_load: float = 0.2) -> str:
    rows = "".join(
        f"  - {{name: p{number}, protocol: vllm, url: '{server.url}', key: sk-{number}, headers: {{x-who: me}}, models: [m]}}\n"
        for number, server in enumerate(servers)
    )
    return f"providers:\n{rows}routes: [{{name: m, poll_load: {poll_load}}}]\n"


def busy(server: MockUpstream, running: int) -> None:
    server.page("/metrics", Body(PAGE.format(running=running)))


def polls(server: MockUpstream) -> list[Any]:
    return [request for request in list(server.requests) if request.path == "/metrics"]


def calls(server: MockUpstream) -> int:
    return len(server.requests) - len(polls(server))


def others(server: WholeServer) -> dict[str, int | None]:
    """What is known of calls that others have at the replicas, as an operator sees it."""
    try:
        with Client(base_url=server.url) as client:
            routes = client.admin.routes().routes
    except AntiphonClientError:
        return {}  # of a process that was killed just now
    return {replica.name: replica.others for replica in routes[-1].replicas} if routes else {}


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def until_polled(servers: list[MockUpstream], times: int) -> None:
    """Until each has been polled so many times more."""
    wanted = [len(polls(server)) + times for server in servers]
    until(lambda: all(len(polls(server)) >= count for server, count in zip(servers, wanted, strict=True)))


def ask(server: WholeServer) -> httpx2.Response:
    """One call, on a connection of its own, so that any worker may have it."""
    body = {"model": "m", "messages": [{"role": "user", "content": "hello"}], "stream": True}
    return httpx2.post(f"{server.url}/v1/chat/completions", json=body, timeout=PATIENCE)


@pytest.mark.parametrize("workers", [1, 2])
def test_calls_go_where_others_have_not_sent_theirs(
    start: Callable[[int], WholeServer], servers: list[MockUpstream], workers: int
) -> None:
    busy(servers[0], 40)
    busy(servers[1], 0)
    server = start(workers)
    until(lambda: others(server) == {"p0/m": 40, "p1/m": 0})
    assert {ask(server).status_code for _ in range(8)} == {200}
    assert (calls(servers[0]), calls(servers[1])) == (0, 8)
    metrics = httpx2.get(f"{server.url}/metrics", timeout=PATIENCE).text
    assert 'antiphon_route_replica_others{replica="p0/m",route="m"} 40.0' in metrics
    busy(servers[0], 0)
    busy(servers[1], 40)
    until(lambda: others(server) == {"p0/m": 0, "p1/m": 40})
    assert {ask(server).status_code for _ in range(8)} == {200}
    assert (calls(servers[0]), calls(servers[1])) == (8, 8)
    (poll,) = polls(servers[0])[:1]
    assert (poll.header("authorization"), poll.header("x-who")) == ("Bearer sk-0", "me"), "as calls are sent"


def test_calls_of_all_workers_are_ours(start: Callable[[int], WholeServer], servers: list[MockUpstream]) -> None:
    """Many calls through two workers, on servers that tell the truth: nobody takes them for others'."""
    for server in servers:
        server.page("/metrics", Body(PAGE.format(running=0)))
    running = start(2)
    until(lambda: others(running) == {"p0/m": 0, "p1/m": 0})
    seen = set()
    for _ in range(20):
        for server in servers:
            busy(server, server.in_flight)
        assert ask(running).status_code == 200
        seen |= set(others(running).values())
    assert seen == {0}


def test_a_replica_without_the_page_is_told_of_once_and_gets_calls(
    start: Callable[[int], WholeServer], servers: list[MockUpstream]
) -> None:
    busy(servers[1], 40)
    server = start(1)
    until(lambda: others(server) == {"p0/m": None, "p1/m": 40} and len(polls(servers[0])) >= 3)
    assert {ask(server).status_code for _ in range(4)} == {200}
    assert (calls(servers[0]), calls(servers[1])) == (4, 0)
    log = [line for line in server.log_path.read_text().splitlines() if "does not tell its load" in line]
    assert len(log) == 1
    assert "p0/m" in log[0]
    assert "/metrics answers 404" in log[0]


@pytest.mark.parametrize(
    "steps",
    [
        (Hang(),),
        (Status(302), Header("location", "/elsewhere")),
        (Status(500), Body("broken")),
        (Body("<html>of a proxy</html>"),),
        (Body(b"a" * (5 << 20)),),
        (Delay(0.1), Body(b"\xff\x00")),
    ],
    ids=["hangs", "redirects", "fails", "is no page", "is large", "is binary"],
)
def test_a_page_that_is_no_use_costs_no_call_anything(
    start: Callable[[int], WholeServer], servers: list[MockUpstream], steps: tuple[Any, ...]
) -> None:
    for server in servers:
        server.page("/metrics", *steps)
    running = start(1)
    until(lambda: all(len(polls(server)) >= 2 for server in servers))
    assert {ask(running).status_code for _ in range(10)} == {200}
    with Client(base_url=running.url) as client:
        (route,) = client.admin.routes().routes
    assert {(replica.breaker, replica.others) for replica in route.replicas} == {("closed", None)}
    assert not any(request.path == "/elsewhere" for server in servers for request in server.requests)


def test_polls_end_with_the_route_that_wanted_them(start: Callable[[int], WholeServer], servers: list[MockUpstream]) -> None:
    gate = Gate()
    servers[0].script(gate, *HI)
    busy(servers[0], 0)
    busy(servers[1], 40)
    running = start(1)
    until(lambda: others(running) == {"p0/m": 0, "p1/m": 40})
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(ask, running)
        until(lambda: calls(servers[0]) == 1)
        reload_without_the_first(running, servers)
        gate.open()
        assert call.result(PATIENCE).status_code == 200


def reload_without_the_first(running: WholeServer, servers: list[MockUpstream]) -> None:
    """While a call is under way by the settings of before."""
    running.file.write_text(EMPTY + configuration(servers[1:], 0.1))
    running.process.send_signal(signal.SIGHUP)
    until(lambda: others(running) == {"p0/m": 40})
    before, other = len(polls(servers[0])), len(polls(servers[1]))
    until(lambda: len(polls(servers[1])) >= other + 10)
    assert len(polls(servers[0])) == before


def test_another_worker_polls_when_the_one_that_did_is_gone(
    start: Callable[[int], WholeServer], servers: list[MockUpstream]
) -> None:
    busy(servers[0], 3)
    busy(servers[1], 3)
    server = start(2)
    for name in ("worker-0", "worker-1", "coordinator"):
        until(lambda: others(server) == {"p0/m": 3, "p1/m": 3})
        rows = httpx2.get(f"{server.url}/admin/processes", timeout=PATIENCE).json()["processes"]
        (pid,) = [row["pid"] for row in rows if row["name"] == name]
        os.kill(pid, signal.SIGKILL)
        until_polled(servers, 3)
    server.stop()
    assert "Traceback" not in server.log_path.read_text()
