"""New settings under load: no call fails, all workers agree, and what is wrong changes nothing."""

import json
import signal
import threading
import time
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import openai
import pytest

from antiphon.testing import Done, Event, Gate, MockUpstream
from tests.acceptance.gateway import PATIENCE, Gateway, until

pytestmark = pytest.mark.timeout(200)


@pytest.fixture
def upstream() -> Iterator[MockUpstream]:
    with MockUpstream() as mock:
        yield mock


@pytest.fixture(params=[1, 4])
def gateway(request: pytest.FixtureRequest, upstream: MockUpstream, tmp_path: Path) -> Iterator[Gateway]:
    running = Gateway(tmp_path, upstream, aliases={"before": "mock-model"}, workers=request.param, grace=1)
    yield running
    assert running.stop() == 0


def at_epoch(gateway: Gateway, epoch: int) -> bool:
    return all(row["epoch"] == epoch for row in gateway.processes() if row["role"] == "worker")


def chunk(text: str, finish: str | None = None) -> Event:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    return Event(json.dumps({"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}))


def models(gateway: Gateway) -> set[str]:
    """As one worker lists them: each request comes on a connection of its own."""
    return {row["id"] for row in gateway.get("/v1/models")["data"]}


def agreed(gateway: Gateway, name: str) -> bool:
    return all(name in models(gateway) for _ in range(32))


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
    pids = {row["name"]: row["pid"] for row in gateway.processes()}
    for number in range(1, 6):
        gateway.write(aliases={"before": "mock-model", f"after-{number}": "mock-model"})
        gateway.process.send_signal(signal.SIGHUP)
        until(partial(agreed, gateway, f"after-{number}"))
        until(partial(at_epoch, gateway, number + 1))
    over.set()
    for caller in callers:
        caller.join(PATIENCE)
    assert failures == []
    assert calls > 20
    assert {row["name"]: row["pid"] for row in gateway.processes()} == pids


def test_a_stream_outlives_the_settings_that_it_began_with(gateway: Gateway, upstream: MockUpstream) -> None:
    gate = Gate()
    upstream.script(chunk("one "), gate, chunk("two", finish="stop"), Done())
    with openai.OpenAI(base_url=f"{gateway.url}/v1", api_key="none", max_retries=0, timeout=PATIENCE) as client:
        stream = client.chat.completions.create(model="before", messages=[{"role": "user", "content": "hi"}], stream=True)
        pieces = iter(stream)
        first = next(pieces)
        gateway.rows["providers"] = [{"name": "other", "url": upstream.url, "models": ["other-model"]}]
        gateway.write(aliases={})
        gateway.process.send_signal(signal.SIGHUP)
        until(lambda: agreed(gateway, "other-model"))
        time.sleep(1.5)  # longer than the grace of a worker that is replaced
        gate.open()
        rest = "".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices)
    assert (first.choices[0].delta.content or "") + rest == "one two"


def test_a_wrong_file_leaves_the_old_settings_and_shows_its_line(gateway: Gateway) -> None:
    gateway.file.write_text("server:\n  workers: 4\n  prot: 1\nmodels: []\n")
    gateway.process.send_signal(signal.SIGHUP)
    until(lambda: gateway.get("/admin/processes")["reload_error"])
    state = gateway.get("/admin/processes")
    assert "antiphon.yaml:3" in state["reload_error"]
    assert state["epoch"] == 1
    assert agreed(gateway, "before")
    gateway.write(aliases={"mended": "mock-model"})
    gateway.process.send_signal(signal.SIGHUP)
    until(lambda: agreed(gateway, "mended"))
    assert gateway.get("/admin/processes")["reload_error"] == ""


def test_without_the_file_of_the_start_the_old_settings_stay(gateway: Gateway) -> None:
    gateway.file.rename(gateway.file.with_suffix(".away"))
    gateway.process.send_signal(signal.SIGHUP)
    until(lambda: gateway.get("/admin/processes")["reload_error"])
    assert "antiphon.yaml" in gateway.get("/admin/processes")["reload_error"]
    assert agreed(gateway, "before")


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
