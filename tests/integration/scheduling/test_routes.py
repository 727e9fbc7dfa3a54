"""Calls that are scheduled, through a real data plane: which replica answers, when, and what callers are told."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from antiphon.bootstrap.process import socket_path
from antiphon.testing import Delay, Gate, MockUpstream
from tests.integration.gateway.data_plane import DataPlaneProcess
from tests.integration.scheduling.streams import HI

HELLO: Any = [{"role": "user", "content": "hello"}]
Start = Callable[..., DataPlaneProcess]


@pytest.fixture
def servers() -> Iterator[list[MockUpstream]]:
    with ExitStack() as stack:
        yield [stack.enter_context(MockUpstream()) for _ in range(3)]


@pytest.fixture
def start(tmp_path: Path, servers: list[MockUpstream]) -> Iterator[Start]:
    with ExitStack() as stack:

        def begin(route: str, count: int = 2, keys: str = "") -> DataPlaneProcess:
            rows = "".join(f"  - {{name: server-{n}, url: {servers[n].url}/v1, models: [m]}}\n" for n in range(count))
            process = DataPlaneProcess(f"{keys}providers:\n{rows}routes:\n  - {{name: m, {route}}}\n", tmp_path)
            stack.callback(process.stop)
            return process

        yield begin


def ask(process: DataPlaneProcess, stream: bool = True, **headers: str) -> httpx2.Response:
    body = {"model": "m", "messages": HELLO, "stream": stream}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx2.post(f"{process.url}/v1/chat/completions", json=body, headers=named, timeout=20)


def private(process: DataPlaneProcess, path: str) -> Any:
    """What the worker tells on its private socket."""
    socket = httpx2.HTTPTransport(uds=socket_path(process.run_dir, "worker-0"))
    with httpx2.Client(transport=socket, base_url="http://worker") as client:
        return client.get(path).json()


def wait_waiting(process: DataPlaneProcess, server: MockUpstream, at_least: int = 0, at_most: int = 1000) -> None:
    """Until so many calls wait in the queue."""
    deadline = time.monotonic() + 10
    while not at_least <= private(process, "/stats")["in_flight"] - server.in_flight <= at_most:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_calls_are_spread_over_the_providers_of_a_model(start: Start, servers: list[MockUpstream]) -> None:
    for server in servers:
        server.chat("hi", times=None)
    process = start("policy: round-robin", count=3)
    for _ in range(9):
        assert ask(process).status_code == 200
    assert [len(server.requests) for server in servers] == [3, 3, 3]


@pytest.mark.parametrize("stream", [True, False])
def test_the_answer_says_why_this_replica(start: Start, servers: list[MockUpstream], stream: bool) -> None:
    for server in servers:
        server.chat("hi", times=None)
    told = ask(start("policy: least-tokens"), stream, x_antiphon_tier="p0").headers["x-antiphon-route"]
    name, tier, waited, attempt, score = told.split("; ")
    assert name in ("server-0/m", "server-1/m")
    assert (tier, attempt, score) == ("tier=0", "attempt=1", "least-tokens=1")
    assert waited.startswith("waited=")
    assert waited.endswith("ms")


def test_the_log_tells_what_was_decided(start: Start, servers: list[MockUpstream]) -> None:
    for server in servers:
        server.chat("hi", times=None)
    process = start("policy: least-tokens", count=3)
    answers = [ask(process) for _ in range(3)]
    process.stop()
    calls = process.calls()
    assert [call["target"] for call in calls] == [answer.headers["x-antiphon-model"] for answer in answers]
    for call in calls:
        assert (call["route"], call["candidates"].keys()) == ("m", {"server-0/m", "server-1/m", "server-2/m"})
        assert call["candidates"][call["target"]] == max(call["candidates"].values())
        assert "degraded" not in call


def test_a_replica_that_fails_costs_no_caller_anything(start: Start, servers: list[MockUpstream]) -> None:
    servers[0].error(503, times=None)
    servers[1].chat("hi", times=None)
    process = start("policy: round-robin")
    answers = [ask(process, stream=False) for _ in range(30)]
    assert {answer.status_code for answer in answers} == {200}
    assert len(servers[0].requests) < 6, "its breaker is open after a few"


def test_what_fails_everywhere_is_told_as_the_last_server_told_it(start: Start, servers: list[MockUpstream]) -> None:
    for server in servers:
        server.error(503, times=None)
    process = start("policy: least-tokens, attempts: 2")
    answer = ask(process)
    assert (answer.status_code, answer.json()["error"]["message"]) == (503, "mock error 503")
    assert [len(server.requests) for server in servers[:2]] == [1, 1], "the other one comes before the same one"


def test_a_wrong_call_is_asked_nowhere_else(start: Start, servers: list[MockUpstream]) -> None:
    for server in servers:
        server.error(400, times=None)
    assert ask(start("policy: least-tokens")).status_code == 400
    assert sum(len(server.requests) for server in servers) == 1


def test_a_server_that_wants_rest_gets_it(start: Start, servers: list[MockUpstream]) -> None:
    servers[0].error(429, retry_after=60, times=None)
    servers[1].chat("hi", times=None)
    process = start("policy: round-robin")
    assert {ask(process).status_code for _ in range(10)} == {200}
    assert len(servers[0].requests) == 1


def test_one_at_a_time_means_one_at_a_time(start: Start, servers: list[MockUpstream]) -> None:
    servers[0].script(Delay(0.05), *HI, times=None)
    process = start("policy: least-tokens, max_calls: 1", count=1)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: ask(process), range(8)))
    assert {answer.status_code for answer in answers} == {200}
    assert servers[0].max_in_flight == 1
    waits = [int(answer.headers["x-antiphon-route"].split("waited=")[1].split("ms")[0]) for answer in answers]
    assert max(waits) > 100, "the others waited"


def test_the_higher_tier_goes_first(start: Start, servers: list[MockUpstream]) -> None:
    gate = Gate()
    servers[0].script(gate, *HI).script(Delay(0.3), *HI, times=None)
    process = start("policy: least-tokens, max_calls: 1, p1: {floor: 0}, p2: {floor: 0}", count=1)
    order: list[str] = []

    def call(tier: str) -> None:
        assert ask(process, x_antiphon_tier=tier).status_code == 200
        order.append(tier)

    with ThreadPoolExecutor(8) as pool:
        running = [pool.submit(call, "1")]
        assert servers[0].wait_requests(1)
        running += [pool.submit(call, tier) for tier in ("2", "2", "1", "1")]
        wait_waiting(process, servers[0], 4)
        running.append(pool.submit(call, "0"))
        wait_waiting(process, servers[0], 5)
        gate.open()
        for future in running:
            future.result(20)
    assert order == ["1", "0", "1", "1", "2", "2"]


def test_a_full_queue_and_a_long_wait_are_refused_with_the_time_to_come_back(start: Start, servers: list[MockUpstream]) -> None:
    gate = Gate()
    servers[0].script(gate, *HI)
    process = start("policy: least-tokens, max_calls: 1, max_waiting: 1, p1: {max_wait: 3}", count=1)
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(ask, process)
        assert servers[0].wait_requests(1)
        second = pool.submit(ask, process)
        wait_waiting(process, servers[0], 1)
        third = ask(process)
        waited = second.result(20)
        gate.open()
        assert (third.status_code, third.json()["error"]["code"]) == (429, "queue_full")
        assert (waited.status_code, waited.json()["error"]["code"]) == (503, "queue_timeout")
        assert int(third.headers["retry-after"]) >= 1
        assert first.result(10).status_code == 200


def test_who_leaves_the_queue_leaves_no_trace(start: Start, servers: list[MockUpstream]) -> None:
    gate = Gate()
    servers[0].script(gate, *HI).script(*HI, times=None)
    process = start("policy: least-tokens, max_calls: 1", count=1)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(ask, process)
        assert servers[0].wait_requests(1)
        with pytest.raises(httpx2.TimeoutException):
            httpx2.post(f"{process.url}/v1/chat/completions", json={"model": "m", "messages": HELLO}, timeout=0.2)
        wait_waiting(process, servers[0], at_most=0)
        gate.open()
        assert first.result(10).status_code == 200
    assert ask(process).status_code == 200
    assert len(servers[0].requests) == 2, "the one that left was never sent"


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("x-antiphon-tier", "3"),
        ("x-antiphon-class", "urgent"),
        ("x-antiphon-answer-within", "-1"),
        ("x-antiphon-answer-within", "nan"),
        ("x-antiphon-first-token-within", "soon"),
        ("x-antiphon-session", "s" * 300),
    ],
)
def test_a_wrong_wish_is_refused_by_name(start: Start, servers: list[MockUpstream], header: str, value: str) -> None:
    answer = ask(start("policy: least-tokens"), **{header: value})
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == header
    assert not servers[0].requests
    assert not servers[1].requests


def test_a_key_gets_no_better_tier_than_its_own(start: Start, servers: list[MockUpstream]) -> None:
    servers[0].chat("hi", times=None)
    keys = "server: {keys: [{name: batch, key: sk-batch, tier: 2}, {name: app, key: sk-app}]}\n"
    process = start("policy: least-tokens", count=1, keys=keys)

    def tier(key: str, **wish: str) -> str:
        return ask(process, authorization=f"Bearer {key}", **wish).headers["x-antiphon-route"].split("; ")[1]

    assert tier("sk-batch") == "tier=2"
    assert tier("sk-batch", x_antiphon_tier="0") == "tier=2"
    assert tier("sk-app") == "tier=1"
    assert tier("sk-app", x_antiphon_tier="0") == "tier=0"


def test_official_clients_stream_through_a_route(start: Start, servers: list[MockUpstream]) -> None:
    servers[0].chat("a few words", times=None)
    client: openai.OpenAI = start("policy: soonest", count=1).client()
    chunks = client.chat.completions.create(model="m", messages=HELLO, stream=True, stream_options={"include_usage": True})
    texts, usage = [], None
    for chunk in chunks:
        texts += [choice.delta.content or "" for choice in chunk.choices]
        usage = chunk.usage or usage
    assert "".join(texts) == "a few words"
    assert usage is not None


def test_a_scheduler_shows_how_it_is(start: Start, servers: list[MockUpstream]) -> None:
    gate = Gate()
    servers[0].script(gate, *HI, times=None)
    process = start("policy: least-tokens, max_calls: 1", count=1)
    with ThreadPoolExecutor(2) as pool:
        running = [pool.submit(ask, process)]
        assert servers[0].wait_requests(1)
        running.append(pool.submit(ask, process))
        wait_waiting(process, servers[0], 1)
        (route,) = private(process, "/schedules")["routes"]
        gate.open()
        assert {future.result(10).status_code for future in running} == {200}
    (replica,) = route["replicas"]
    assert (route["name"], route["waiting"]) == ("m", 1)
    assert (replica["name"], replica["calls"], replica["limit"], replica["breaker"]) == ("server-0/m", 1, 1, "closed")
