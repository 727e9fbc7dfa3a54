"""Calls that something lighter answers, through a real data plane: who answers, and how callers of every dialect are told."""

import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import ollama
import pytest

from antiphon.core.errors import ConfigError
from antiphon.testing import Gate, MockUpstream
from tests.integration.gateway.data_plane import EMPTY, DataPlaneProcess, WholeServer
from tests.integration.scheduling.streams import HI

HELLO: Any = [{"role": "user", "content": "hello"}]
Start = Callable[..., DataPlaneProcess]
TOLD = "x-antiphon-degraded"


class Upstreams:
    """The servers of a big model and of a small one."""

    def __init__(self, stack: ExitStack) -> None:
        self.big = stack.enter_context(MockUpstream())
        self.small = stack.enter_context(MockUpstream())

    def configuration(self, degrade: str, more: str = "") -> str:
        rows = "".join(f"  - {{name: {name}, url: {getattr(self, name).url}/v1, models: [{name}]}}\n" for name in ("big", "small"))
        return f"providers:\n{rows}routes:\n  - {{name: big, attempts: 1, {more}degrade: {{{degrade}}}}}\n"


@pytest.fixture
def upstreams() -> Iterator[Upstreams]:
    with ExitStack() as stack:
        yield Upstreams(stack)


@pytest.fixture
def start(tmp_path: Path, upstreams: Upstreams) -> Iterator[Start]:
    with ExitStack() as stack:

        def begin(degrade: str, more: str = "") -> DataPlaneProcess:
            process = DataPlaneProcess(upstreams.configuration(degrade, more), tmp_path)
            stack.callback(process.stop)
            return process

        yield begin


def ask(url: str, path: str = "/v1/chat/completions", *, stream: bool = False, **more: Any) -> httpx2.Response:
    headers = more.pop("headers", {})
    body = {"model": "big", "messages": HELLO, "stream": stream, **more}
    return httpx2.post(f"{url}{path}", json=body, headers=headers, timeout=20)


def words(answer: httpx2.Response) -> dict[str, str]:
    """What the header tells, by name; nothing where the main model answered."""
    return dict(word.partition("=")[::2] for word in answer.headers.get(TOLD, "").split("; ") if word)


def test_a_healthy_route_is_answered_by_its_own_model(start: Start, upstreams: Upstreams) -> None:
    upstreams.big.chat("big words", times=None)
    url = start("model: small, template: sorry").url
    answers = [ask(url, stream=stream) for stream in (True, False) * 10]
    assert [answer for answer in answers if TOLD in answer.headers or "big words" not in answer.text.replace('"}}', "")] == []
    assert not upstreams.small.requests


@pytest.mark.parametrize("stream", [True, False])
def test_a_route_that_is_not_quite_well_is_answered_by_the_lighter_model(start: Start, upstreams: Upstreams, stream: bool) -> None:
    """A tenth of its calls fails."""
    upstreams.big.chat("well", times=9).error(503, times=1).chat("well", times=None)
    upstreams.small.chat("light", times=None)
    url = start("model: small, template: sorry", "breaker: {minimum_calls: 1000, window: 600}, ").url
    told = [words(ask(url, stream=stream)) for _ in range(14)]
    assert told[:9] == [{}] * 9
    assert told[9] == {"model": "small", "reason": "failed", "score": "0.90"}
    assert told[-1] == {"model": "small", "reason": "health", "score": told[-1]["score"]}
    assert 0.90 <= float(told[-1]["score"]) < 0.95


def test_below_the_second_threshold_the_fixed_text_answers(start: Start, upstreams: Upstreams) -> None:
    upstreams.big.error(503, times=None)
    upstreams.small.chat("light", times=None)
    url = start("model: small, template: We are busy.", "breaker: {minimum_calls: 1000, window: 600}, ").url
    answers = [ask(url) for _ in range(16)]
    assert [words(answer).get("model") for answer in answers[:9]] == ["small"] * 9, "what fails on its own is still the model's"
    last = answers[-1]
    assert last.headers[TOLD] == "answer=template; reason=health; score=0.00"
    assert last.json()["choices"][0]["message"]["content"] == "We are busy."
    assert last.headers["x-antiphon-model"] == "antiphon/template"


def test_it_comes_back_by_itself(start: Start, upstreams: Upstreams) -> None:
    """Ten failures, then none: the calls that are tried all the same show it."""
    upstreams.big.error(503, times=12).chat("well", times=None)
    upstreams.small.chat("light", times=None)
    url = start("model: small, minimum_calls: 4", "breaker: {minimum_calls: 1000, window: 1}, ").url
    assert [words(ask(url)).get("model") for _ in range(12)][:4] == ["small"] * 4
    deadline = time.monotonic() + 30
    while any(TOLD in ask(url).headers for _ in range(3)):
        assert time.monotonic() < deadline


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("degrade", ["model: small", "template: sorry"])
def test_callers_of_every_dialect_are_told(start: Start, upstreams: Upstreams, degrade: str, stream: bool) -> None:
    upstreams.big.error(503, times=None)
    upstreams.small.chat("sorry", times=None)
    url = start(degrade).url
    asked: dict[str, dict[str, Any]] = {
        "/v1/chat/completions": {},
        "/v1/completions": {"prompt": "hello"},
        "/v1/responses": {"input": "hello", "messages": None},
        "/v1/messages": {"max_tokens": 20},
        "/api/chat": {},
        "/api/generate": {"prompt": "hello"},
    }
    for path, more in asked.items():
        body = {"model": "big", "messages": HELLO, "stream": stream, **more}
        kept = {name: value for name, value in body.items() if value is not None and (name != "messages" or "prompt" not in more)}
        answer = httpx2.post(f"{url}{path}", json=kept, timeout=20)
        assert answer.status_code == 200, (path, answer.text)
        assert words(answer).keys() >= {"reason", "score"}, path
        assert "sorry" in answer.text, path
        assert answer.headers["content-type"].startswith("application/json") is not stream, path


def test_official_clients_read_the_fixed_text(start: Start, upstreams: Upstreams) -> None:
    upstreams.big.error(503, times=None)
    process = start("template: We are busy.")
    openais = process.client().chat.completions.create(model="big", messages=HELLO, stream=True)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in openais if chunk.choices) == "We are busy."
    assert process.client().responses.create(model="big", input="hello").output_text == "We are busy."
    with (
        anthropic.Anthropic(base_url=process.url, api_key="k", max_retries=0) as client,
        client.messages.stream(model="big", messages=HELLO, max_tokens=20) as stream,
    ):
        assert stream.get_final_text() == "We are busy."
    with ollama.Client(host=process.url) as local:
        chat = local.chat("big", messages=HELLO, stream=True)
        assert "".join(part.message.content or "" for part in chat) == "We are busy."


def test_the_error_of_the_lighter_model_says_whose_it_is(start: Start, upstreams: Upstreams) -> None:
    upstreams.big.error(503, times=None)
    upstreams.small.error(500, times=None)
    answer = ask(start("model: small").url)
    assert (answer.status_code, words(answer)["model"]) == (500, "small")


@pytest.mark.parametrize("when_busy", [True, False])
def test_a_call_without_a_place_goes_down_where_the_route_says_so(start: Start, upstreams: Upstreams, when_busy: bool) -> None:
    gate = Gate()
    upstreams.big.script(gate, *HI, times=None)
    upstreams.small.chat("light", times=None)
    setting = f"model: small, when_busy: {str(when_busy).lower()}"
    url = start(setting, "max_calls: 1, min_calls: 1, max_waiting: 1, p1: {max_wait: 0.5}, ").url
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(ask, url, stream=True)
        assert upstreams.big.wait_requests(1)
        waiting = ask(url, stream=True)
        gate.open()
        assert TOLD not in first.result(20).headers
    if when_busy:
        assert (waiting.status_code, words(waiting)["reason"]) == (200, "waited")
    else:
        assert (waiting.status_code, waiting.json()["error"]["code"]) == (503, "queue_timeout")


def test_a_lighter_model_may_be_a_route_with_a_way_down_of_its_own(tmp_path: Path, upstreams: Upstreams) -> None:
    upstreams.big.error(503, times=None)
    upstreams.small.error(503, times=None)
    more = "  - {name: small, attempts: 1, degrade: {template: sorry}}\n"
    process = DataPlaneProcess(upstreams.configuration("model: small") + more, tmp_path)
    try:
        answer = ask(process.url)
        assert answer.headers[TOLD].split(", ") == [
            "model=small; reason=failed; score=1.00",
            "answer=template; reason=failed; score=1.00",
        ]
        assert answer.json()["choices"][0]["message"]["content"] == "sorry"
    finally:
        process.stop()


def test_several_workers_degrade_as_one(tmp_path: Path, upstreams: Upstreams) -> None:
    upstreams.big.error(503, times=None)
    upstreams.small.chat("light", times=None)
    route = upstreams.configuration("model: small, template: sorry", "breaker: {minimum_calls: 1000, window: 600}, ")
    server = WholeServer(route, tmp_path, 2)
    try:
        told = [words(ask(server.url)) for _ in range(40)]
        assert {word["reason"] for word in told} == {"failed", "health"}
        assert told[-1].get("answer") == "template"
        asked = len(upstreams.big.requests)
        assert asked < 20, "each worker alone would have had to find out"
    finally:
        server.stop()


def test_a_way_down_that_leads_back_is_refused_at_reload(tmp_path: Path, upstreams: Upstreams) -> None:
    upstreams.big.error(503, times=None)
    upstreams.small.chat("light", times=None)
    server = WholeServer(upstreams.configuration("model: small"), tmp_path, 1)
    try:
        server.file.write_text(EMPTY + upstreams.configuration("model: big"))
        server.process.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + 30
        while not (told := httpx2.get(f"{server.url}/admin/processes", timeout=10).json()["reload_error"]):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert 'route "big" degrades in a circle: big -> big' in told
        assert words(ask(server.url))["model"] == "small", "the old settings go on"
    finally:
        server.stop()


def test_a_way_down_that_leads_back_is_refused_at_start(tmp_path: Path, upstreams: Upstreams) -> None:
    with pytest.raises(ConfigError) as told:
        DataPlaneProcess(upstreams.configuration("model: big"), tmp_path)
    assert 'route "big" degrades in a circle' in str(told.value)
