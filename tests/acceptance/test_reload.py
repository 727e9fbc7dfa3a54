"""New settings under load: no call fails, all workers agree, and what is wrong changes nothing."""

import json
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

from antiphon.testing import Done, Event, Gate, MockUpstream
from tests.acceptance.served import Server

PATIENCE = 60.0
WORKERS = 4

pytestmark = pytest.mark.timeout(200)


class Gateway:
    """A running ``antiphon serve`` in front of a scripted provider."""

    def __init__(self, folder: Path, upstream: MockUpstream) -> None:
        self.file = folder / "antiphon.yaml"
        self.rows: dict[str, Any] = {
            "server": {"port": 0, "grace": 1, "workers": WORKERS, "log_calls": False},
            "models": [],
            "embeddings": {"enabled": False},
            "providers": [{"name": "mock", "url": upstream.url, "models": ["mock-model"]}],
            "data_dir": str(folder / "data"),
            "cache_dir": str(folder / "cache"),
        }
        self.write(aliases={"before": "mock-model"})
        self.process = subprocess.Popen(
            [sys.executable, "-m", "antiphon", "serve"], cwd=folder, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        self.server = Server(self.process, PATIENCE)
        self.url = self.server.wait_said(r"(http://127\.0\.0\.1:\d+)/v1")[1]

    def write(self, **rows: Any) -> None:
        self.file.write_text(json.dumps(self.rows | rows, indent=1))

    def state(self) -> Any:
        with urllib.request.urlopen(f"{self.url}/admin/processes", timeout=30) as answer:
            return json.loads(answer.read())

    def models(self) -> set[str]:
        """As one worker lists them: each request comes on a connection of its own."""
        with urllib.request.urlopen(f"{self.url}/v1/models", timeout=30) as answer:
            return {row["id"] for row in json.loads(answer.read())["data"]}

    def reload(self) -> None:
        self.process.send_signal(signal.SIGHUP)


@pytest.fixture
def upstream() -> Iterator[MockUpstream]:
    with MockUpstream() as mock:
        yield mock


@pytest.fixture
def gateway(upstream: MockUpstream, tmp_path: Path) -> Iterator[Gateway]:
    running = Gateway(tmp_path, upstream)
    yield running
    assert running.server.end() == 0


def worker_epochs(gateway: Gateway) -> set[int]:
    return {row["epoch"] for row in gateway.state()["processes"] if row["role"] == "worker"}


def chunk(text: str, finish: str | None = None) -> Event:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    return Event(json.dumps({"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}))


def agreed(gateway: Gateway, name: str) -> bool:
    return all(name in gateway.models() for _ in range(8 * WORKERS))


def until(condition: Any) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.05)


def test_no_call_fails_while_settings_change_and_all_workers_agree(gateway: Gateway) -> None:
    failures: list[str] = []
    calls = 0
    over = threading.Event()

    def call_on() -> None:
        nonlocal calls
        with openai.OpenAI(base_url=f"{gateway.url}/v1", api_key="none", max_retries=0, timeout=PATIENCE) as client:
            while not over.is_set():
                try:
                    client.chat.completions.create(model="before", messages=[{"role": "user", "content": "hi"}])
                    calls += 1
                except openai.OpenAIError as error:
                    failures.append(str(error))

    callers = [threading.Thread(target=call_on) for _ in range(3)]
    for caller in callers:
        caller.start()
    pids = {row["name"]: row["pid"] for row in gateway.state()["processes"]}
    for number in range(1, 6):
        gateway.write(aliases={"before": "mock-model", f"after-{number}": "mock-model"})
        gateway.reload()
        until(lambda name=f"after-{number}": name in gateway.models())
        until(lambda epoch=number + 1: worker_epochs(gateway) == {epoch})
        assert agreed(gateway, f"after-{number}")
    over.set()
    for caller in callers:
        caller.join(PATIENCE)
    assert failures == []
    assert calls > 20
    assert {row["name"]: row["pid"] for row in gateway.state()["processes"]} == pids


def test_a_stream_outlives_the_settings_that_it_began_with(gateway: Gateway, upstream: MockUpstream) -> None:
    gate = Gate()
    upstream.script(chunk("one "), gate, chunk("two", finish="stop"), Done())
    with openai.OpenAI(base_url=f"{gateway.url}/v1", api_key="none", max_retries=0, timeout=PATIENCE) as client:
        stream = client.chat.completions.create(model="before", messages=[{"role": "user", "content": "hi"}], stream=True)
        pieces = iter(stream)
        first = next(pieces)
        gateway.rows["providers"] = [{"name": "other", "url": upstream.url, "models": ["other-model"]}]
        gateway.write(aliases={})
        gateway.reload()
        until(lambda: agreed(gateway, "other-model"))
        time.sleep(1.5)  # longer than the grace of a worker that is replaced
        gate.open()
        rest = "".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices)
    assert (first.choices[0].delta.content or "") + rest == "one two"


def test_a_wrong_file_leaves_the_old_settings_and_shows_its_line(gateway: Gateway) -> None:
    gateway.file.write_text("server:\n  workers: 4\n  prot: 1\nmodels: []\n")
    gateway.reload()
    until(lambda: gateway.state()["reload_error"])
    state = gateway.state()
    assert "antiphon.yaml:3" in state["reload_error"]
    assert state["epoch"] == 1
    assert agreed(gateway, "before")
    gateway.write(aliases={"mended": "mock-model"})
    gateway.reload()
    until(lambda: agreed(gateway, "mended"))
    assert gateway.state()["reload_error"] == ""


def test_a_stream_that_outlasts_the_grace_ends_with_an_error_event(gateway: Gateway, upstream: MockUpstream) -> None:
    upstream.script(chunk("one "), Gate(), Done())
    request = urllib.request.Request(
        f"{gateway.url}/v1/chat/completions",
        json.dumps({"model": "mock-model", "stream": True, "messages": [{"role": "user", "content": "hi"}]}).encode(),
        {"content-type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        assert b"one " in answer.readline()
        gateway.process.send_signal(signal.SIGTERM)
        rest = answer.read().decode()
    error = json.loads(rest.strip().removeprefix("data: "))["error"]
    assert error["code"] == "draining"
    assert "[DONE]" not in rest
    assert upstream.wait_idle()
