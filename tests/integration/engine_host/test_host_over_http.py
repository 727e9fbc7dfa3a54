"""The engine host over a real port, with a scripted engine and the official client."""

import json
import threading
from typing import Any

import httpx2
import openai
import pytest

from antiphon.core.errors import EngineFailed, SetupError
from antiphon.testing.fake_engine import FakeAnswer, FakeEngine
from tests.integration.engine_host.running import RunningHost, running

HI: Any = [{"role": "user", "content": "hi"}]


def engine(*answers, **more):
    """A function that makes a fake engine on the host's own thread."""
    return lambda: FakeEngine(answers or ("Hello, 🎉!",), **more)


def test_the_official_client_reads_whole_answers_and_streams():
    with running("m", engine()) as host, host.client() as client:
        whole = client.chat.completions.create(model="m", messages=HI, logprobs=True)
        assert whole.choices[0].message.content == "Hello, 🎉!"
        assert len(whole.choices[0].logprobs.content) == whole.usage.completion_tokens
        chunks = list(
            client.chat.completions.create(model="m", messages=HI, stream=True, stream_options={"include_usage": True}, n=2)
        )
        for index in range(2):
            own = [choice for chunk in chunks for choice in chunk.choices if choice.index == index]
            assert "".join(choice.delta.content or "" for choice in own) == "Hello, 🎉!"
            assert own[-1].finish_reason == "stop"
        assert chunks[-1].usage.completion_tokens == 2 * whole.usage.completion_tokens
        assert [model.id for model in client.models.list()] == ["m"]
        text = client.completions.create(model="m", prompt=["a", "b"], logprobs=0, max_tokens=50)
        assert [choice.text for choice in text.choices] == ["Hello, 🎉!"] * 2


def test_errors_are_the_clients_own_exceptions():
    with running("m", engine()) as host, host.client() as client:
        with pytest.raises(openai.NotFoundError) as missing:
            client.chat.completions.create(model="x", messages=HI)
        assert missing.value.code == "model_not_found"
        with pytest.raises(openai.BadRequestError) as wrong:
            client.chat.completions.create(model="m", messages=HI, temperature=3)
        assert wrong.value.param == "temperature"
        assert httpx2.get(f"{host.address}/nowhere").status_code == 404


def test_a_full_queue_is_a_rate_limit_with_a_time_to_retry():
    with running("m", engine(by_hand=True, max_running=1, max_waiting=0), grace=0) as host, host.client() as client:

        def wait_in_vain():
            with pytest.raises(openai.APIError):
                client.chat.completions.create(model="m", messages=HI)

        first = threading.Thread(target=wait_in_vain)
        first.start()
        host.becomes(lambda stats: stats.running == 1)
        with pytest.raises(openai.RateLimitError) as full:
            client.chat.completions.create(model="m", messages=HI)
        assert int(full.value.response.headers["retry-after"]) >= 1
        host.stop()
        first.join()


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_leaves_ends_the_generation_within_a_second(stream):
    with running("m", engine(by_hand=True)) as host:
        body = {"model": "m", "messages": HI, "stream": stream}
        with pytest.raises(httpx2.ReadTimeout):
            httpx2.post(f"{host.address}/v1/chat/completions", json=body, timeout=httpx2.Timeout(5, read=0.3))
        host.becomes(lambda stats: stats.running == 0 and stats.open_calls == 0, within=1)


def test_a_reader_that_stalls_is_given_up_and_others_go_on():
    huge = FakeAnswer(([b"x" * 50_000] * 400,))
    with running("m", engine(huge, "fine")) as host, host.client() as client:
        body = {"model": "m", "messages": HI, "stream": True}
        with httpx2.stream("POST", f"{host.address}/v1/chat/completions", json=body) as response:
            host.becomes(lambda stats: stats.open_calls == 0)
            assert client.chat.completions.create(model="m", messages=HI).choices[0].message.content == "fine"
            with pytest.raises(httpx2.RemoteProtocolError):
                response.read()


def test_an_engine_that_fails_tells_the_client_and_ends_the_process():
    with running("m", engine(FakeAnswer(fail_after=3))) as host:
        body = {"model": "m", "messages": HI, "stream": True}
        lines = []
        with (
            pytest.raises(httpx2.RemoteProtocolError),
            httpx2.stream("POST", f"{host.address}/v1/chat/completions", json=body) as answer,
        ):
            lines += answer.iter_lines()
        host.join()
    assert isinstance(host.outcome, EngineFailed)


def test_the_error_event_reaches_the_client_before_the_cut():
    lines = []
    with running("m", engine(FakeAnswer(fail_after=3))) as host:
        body = {"model": "m", "messages": HI, "stream": True}
        try:
            with httpx2.stream("POST", f"{host.address}/v1/chat/completions", json=body) as answer:
                for line in answer.iter_lines():
                    lines.append(line)  # noqa: PERF402  # those before the cut must be kept
        except httpx2.RemoteProtocolError:
            lines.append("cut")
    events = [line for line in lines if line]
    assert events[-1] == "cut"
    assert json.loads(events[-2].removeprefix("data: "))["error"]["code"] == "engine_failed"


def test_an_engine_that_fails_before_the_answer_is_an_error_status():
    with running("m", engine(FakeAnswer(fail_after=0))) as host:
        answer = httpx2.post(f"{host.address}/v1/chat/completions", json={"model": "m", "messages": HI})
        assert answer.status_code == 502
        host.join()
    assert isinstance(host.outcome, EngineFailed)


def test_while_it_loads_it_says_so():
    gate = threading.Event()

    def load():
        gate.wait()
        return FakeEngine()

    host = RunningHost("m", load)
    try:
        health = httpx2.get(f"{host.address}/health")
        assert (health.status_code, health.json()["status"]) == (503, "loading")
        early = httpx2.post(f"{host.address}/v1/chat/completions", json={"model": "m", "messages": HI})
        assert early.status_code == 503
        assert early.headers["retry-after"]
        gate.set()
        assert host.ready.wait(10)
        assert httpx2.get(f"{host.address}/health").status_code == 200
        assert host.told
    finally:
        gate.set()
        host.stop()
        host.join()


def test_a_model_that_does_not_load_ends_the_process_with_the_reason():
    def load():
        raise SetupError("no such file")

    host = RunningHost("m", load)
    host.join()
    assert isinstance(host.outcome, SetupError)


def test_stopping_lets_running_calls_finish_and_turns_new_ones_away():
    fake = []

    def load():
        fake.append(FakeEngine(["done"], by_hand=True))
        return fake[0]

    with running("m", load) as host, httpx2.Client() as keep:
        assert keep.get(f"{host.address}/health").status_code == 200
        answers = []
        body = {"model": "m", "messages": HI}
        call = threading.Thread(target=lambda: answers.append(httpx2.post(f"{host.address}/v1/chat/completions", json=body)))
        call.start()
        host.becomes(lambda stats: stats.running == 1)
        host.stop()
        host.becomes(lambda stats: stats.status == "draining")
        refused = keep.post(f"{host.address}/v1/chat/completions", json=body)
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "draining")
        for _ in range(4):
            host._loop.call_soon_threadsafe(fake[0].step)
        call.join(10)
        host.join()
    assert answers[0].json()["choices"][0]["message"]["content"] == "done"
    assert host.outcome is None


def test_stopping_cuts_what_does_not_finish_in_time():
    with running("m", engine(by_hand=True), grace=0.2) as host:
        failures = []

        def call():
            try:
                httpx2.post(f"{host.address}/v1/chat/completions", json={"model": "m", "messages": HI})
            except httpx2.HTTPError as error:
                failures.append(error)

        caller = threading.Thread(target=call)
        caller.start()
        host.becomes(lambda stats: stats.running == 1)
        host.stop()
        host.join()
        caller.join(10)
    assert failures
    assert host.outcome is None


def test_a_body_that_is_too_large_and_bytes_that_are_no_request():
    with running("m", engine()) as host:
        large = httpx2.post(f"{host.address}/v1/chat/completions", content=b"x" * (33 << 20))
        assert large.status_code == 413
        assert large.json()["error"]["code"] == "payload_too_large"
