"""Another number of workers under load: those that stay keep their streams, and no caller notices that others come and go."""

import contextlib
import json
import os
import signal
import threading
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import openai
import pytest

from antiphon.testing import Done, Event, Gate, MockUpstream
from tests.acceptance.gateway import PATIENCE, Gateway, until

GRACE = 0.5

AGREED_WITHIN = 5.0
"""Seconds in which all workers go by new settings."""

STREAMS = 16
"""So many that each of two workers has some."""

pytestmark = pytest.mark.timeout(200)


def chunk(text: str, finish: str | None = None) -> Event:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    return Event(json.dumps({"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}))


@pytest.fixture
def upstream() -> Iterator[MockUpstream]:
    with MockUpstream() as mock:
        yield mock


class Called(Gateway):
    """One that is called all the time."""

    def __init__(self, folder: Path, upstream: MockUpstream) -> None:
        super().__init__(folder, upstream, workers=1, grace=GRACE)
        self.good = 0
        self.bad: list[Exception] = []
        self._over = threading.Event()
        self._callers = [threading.Thread(target=self._call_on) for _ in range(3)]

    def call(self) -> None:
        for caller in self._callers:
            caller.start()

    def leave(self) -> None:
        self._over.set()
        for caller in self._callers:
            if caller.ident is not None:
                caller.join(PATIENCE)

    def workers(self) -> dict[str, int]:
        return {row["name"]: row["pid"] for row in self.processes() if row["role"] == "worker"}

    def go_to(self, number: int) -> None:
        """Another number of workers, and a new name that says how far the change has come."""
        name = f"with-{number}-at-{time.monotonic_ns()}"
        self.rows["server"]["workers"] = number
        self.write(aliases={name: "mock-model"})
        self.process.send_signal(signal.SIGHUP)
        began = time.monotonic()
        until(lambda: self._agreed(number, name))
        assert time.monotonic() - began < AGREED_WITHIN
        until(lambda: len(self.workers()) == number)

    def _agreed(self, number: int, name: str) -> bool:
        rows = [row for row in self.processes() if row["role"] == "worker" and row["state"] == "ready"]
        listed = all(name in {row["id"] for row in self.get("/v1/models")["data"]} for _ in range(4 * number))
        return listed and len(rows) == number and len({row["epoch"] for row in rows}) == 1

    def client(self) -> openai.OpenAI:
        return openai.OpenAI(base_url=f"{self.url}/v1", api_key="none", max_retries=0, timeout=PATIENCE)

    def _call_on(self) -> None:
        while not self._over.is_set():
            with self.client() as client:  # a few calls on each connection
                for _ in range(5):
                    try:
                        client.chat.completions.create(model="mock-model", messages=[{"role": "user", "content": "hi"}])
                        self.good += 1
                    except openai.OpenAIError as error:
                        self.bad.append(error)


@pytest.fixture
def gateway(upstream: MockUpstream, tmp_path: Path) -> Iterator[Called]:
    running = Called(tmp_path, upstream)
    try:
        yield running
    finally:
        running.leave()
        code = running.stop()
    assert code == 0


def test_workers_that_stay_keep_their_streams_and_no_call_fails(gateway: Called, upstream: MockUpstream) -> None:
    gate = Gate()
    upstream.script(chunk("one "), gate, chunk("two", finish="stop"), Done())
    first = gateway.workers()
    with gateway.client() as client:
        stream = client.chat.completions.create(model="mock-model", messages=[{"role": "user", "content": "hold"}], stream=True)
        pieces = iter(stream)
        text = next(pieces).choices[0].delta.content or ""
        gateway.call()
        gateway.go_to(4)
        four = gateway.workers()
        gateway.go_to(2)
        two = gateway.workers()
        gateway.go_to(1)
        one = gateway.workers()
        time.sleep(2 * GRACE)
        gate.open()
        text += "".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices)
    assert text == "one two"
    assert first == one
    assert first.items() <= two.items() <= four.items()
    gateway.leave()
    assert gateway.bad == []
    assert gateway.good > 50


def test_a_worker_that_is_killed_after_a_change_comes_back_with_all_its_sockets(gateway: Called) -> None:
    gateway.call()
    gateway.go_to(4)
    gateway.go_to(1)
    gateway.leave()
    assert gateway.bad == []
    dead = gateway.workers()["worker-0"]
    os.kill(dead, signal.SIGKILL)
    for _ in range(40):
        gateway.get("/health")  # what connects meanwhile waits for the successor
    assert gateway.workers().keys() == {"worker-0"}
    assert gateway.workers()["worker-0"] != dead


def test_a_stream_of_a_worker_that_leaves_ends_with_an_error_event_after_the_grace_and_those_of_others_go_on(
    gateway: Called, upstream: MockUpstream
) -> None:
    gateway.go_to(2)
    gate = Gate()
    upstream.script(chunk("one "), gate, chunk("two", finish="stop"), Done(), times=None)
    body = json.dumps({"model": "mock-model", "stream": True, "messages": [{"role": "user", "content": "hi"}]}).encode()
    url = f"{gateway.url}/v1/chat/completions"
    with contextlib.ExitStack() as stack, ThreadPoolExecutor(STREAMS) as pool:
        stack.callback(gate.open)
        streams = [
            stack.enter_context(urllib.request.urlopen(urllib.request.Request(url, body, {"content-type": "application/json"})))
            for _ in range(STREAMS)
        ]
        assert all(b"one " in stream.readline() for stream in streams)
        rests = [pool.submit(stream.read) for stream in streams]
        gateway.go_to(1)
        gate.open()
        ends = [rest.result(PATIENCE).decode() for rest in rests]
    cut = [end for end in ends if '"draining"' in end]
    whole = [end for end in ends if "two" in end and end.rstrip().endswith("[DONE]")]
    assert cut
    assert whole
    assert len(cut) + len(whole) == STREAMS
    assert not any("[DONE]" in end for end in cut)
