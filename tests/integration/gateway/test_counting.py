"""Tokens counted before a call, by Anthropic's official client, in front of servers that can and of those that cannot."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import pytest

from antiphon.testing import Body, Hang, Header, MockUpstream, Status
from antiphon.testing.fake_engine import FakeEngine
from tests.integration.engine_host.running import running
from tests.integration.gateway.data_plane import DataPlaneProcess, Running, provider

Start = Callable[..., Running]
HELLO: Any = [{"role": "user", "content": "hello"}]
TOOL: Any = {"name": "weather", "input_schema": {"type": "object", "properties": {"place": {"type": "string"}}}}
COUNTING: Any = {"capabilities": {"count_tokens": True}}


@contextmanager
def calling(process: Running) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=process.url, api_key="sk-test", max_retries=0, timeout=20) as client:
        yield client


def test_a_server_of_the_dialect_is_asked_in_the_callers_own_bytes(start: Start, upstream: MockUpstream) -> None:
    upstream.script(Body({"input_tokens": 31, "of_the_future": [1.50]}))
    process = start(upstream, protocol="anthropic", key="sk-ant-secret")
    body = json.dumps({"model": "mock-model", "messages": HELLO, "of_the_future": {"b": [1.50, "\\u00e9"]}}, indent=1).encode()
    answer = httpx2.post(f"{process.url}/v1/messages/count_tokens?beta=true", content=body)
    assert answer.json() == {"input_tokens": 31, "of_the_future": [1.50]}
    (request,) = upstream.requests
    assert (request.path, request.body) == ("/v1/messages/count_tokens", body)
    assert (request.header("x-api-key"), request.header("anthropic-version")) == ("sk-ant-secret", "2023-06-01")
    process.stop()
    (call,) = process.calls()
    assert (call["endpoint"], call["prompt_tokens"]) == ("messages/count_tokens", 0)


def test_its_own_name_of_the_model_is_told_to_it(start: Start, upstream: MockUpstream) -> None:
    upstream.script(Body({"input_tokens": 7}))
    process = start(upstream, protocol="anthropic", models=[{"name": "mine", "upstream": "mock-model"}])
    with calling(process) as client:
        assert client.messages.count_tokens(model="mine", messages=HELLO, tools=[TOOL]).input_tokens == 7
    assert upstream.requests[0].json["model"] == "mock-model"


@pytest.mark.parametrize("stream", [None, True])
def test_a_gemini_server_counts_the_whole_request(start: Start, upstream: MockUpstream, stream: bool | None) -> None:
    upstream.script(Body({"totalTokens": 31, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 31}]}))
    process = start(upstream, protocol="gemini", key="AIza-secret")
    with calling(process) as client:
        told = client.messages.count_tokens(
            model="mock-model", system="Be brief.", messages=HELLO, tools=[TOOL], extra_body={"stream": stream}
        )
    assert told.input_tokens == 31
    (request,) = upstream.requests
    assert request.path == "/v1/models/mock-model:countTokens"
    asked = request.json["generateContentRequest"]
    assert asked["model"] == "models/mock-model"
    assert asked["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
    assert asked["tools"][0]["functionDeclarations"][0]["name"] == "weather"


@pytest.mark.parametrize("row", [COUNTING, {"protocol": "vllm"}], ids=["a row that says so", "vllm"])
def test_a_server_with_tokenize_counts_what_its_template_makes(start: Start, upstream: MockUpstream, row: Any) -> None:
    upstream.script(Body({"count": 31, "max_model_len": 4096, "tokens": [1] * 31, "token_strs": None}))
    process = start(upstream, key="sk-secret", **row)
    with calling(process) as client:
        assert client.messages.count_tokens(model="mock-model", messages=HELLO, tools=[TOOL]).input_tokens == 31
    (request,) = upstream.requests
    assert (request.path, request.header("authorization")) == ("/tokenize", "Bearer sk-secret")
    assert request.json.keys() == {"model", "messages", "tools"}


def test_the_count_of_an_engine_is_the_usage_of_the_same_chat(start: Start, upstream: MockUpstream) -> None:
    messages: Any = [*HELLO, {"role": "assistant", "content": "Yes?"}, {"role": "user", "content": "Say <|im_end|> 世界."}]
    ask: Any = {"model": "mock-model", "system": "Be brief.", "messages": messages}
    with running("mock-model", lambda: FakeEngine(("Hi.",))) as host:
        process = start(upstream, url=f"{host.address}/v1", **COUNTING)
        with calling(process) as client:
            counted = client.messages.count_tokens(**ask).input_tokens
            usage = client.messages.create(**ask, max_tokens=9).usage
    assert counted == usage.input_tokens > 50
    assert usage.cache_read_input_tokens in (0, None)


@pytest.mark.parametrize("protocol", ["openai", "ollama"])
def test_a_model_that_cannot_is_refused_with_those_that_can(tmp_path: Path, upstream: MockUpstream, protocol: str) -> None:
    rows = [provider("a", upstream.url, protocol=protocol), provider("b", upstream.url, protocol="gemini", models=["counts"])]
    process = DataPlaneProcess(f"providers: [{', '.join(rows)}]\n", tmp_path)
    try:
        with calling(process) as client, pytest.raises(anthropic.BadRequestError, match="ask one that does: counts") as refused:
            client.messages.count_tokens(model="mock-model", messages=HELLO)
    finally:
        process.stop()
    body: Any = refused.value.body
    assert (body["type"], body["error"]["type"]) == ("error", "invalid_request_error")
    assert not upstream.requests


def test_what_the_chat_could_not_have_is_refused_or_left_out_if_allowed(start: Start, upstream: MockUpstream) -> None:
    process = start(upstream, capabilities={"count_tokens": True, "tools": False})
    ask: Any = {"model": "mock-model", "messages": HELLO, "tools": [TOOL]}
    with calling(process) as client:
        with pytest.raises(anthropic.BadRequestError, match="`tools`"):
            client.messages.count_tokens(**ask)
        assert not upstream.requests
        upstream.script(Body({"count": 5}))
        raw = client.messages.with_raw_response.count_tokens(**ask, extra_body={"drop_unsupported": True})
    assert raw.headers["x-antiphon-dropped"] == "tools"
    assert raw.parse().input_tokens == 5


@pytest.mark.parametrize("protocol", ["anthropic", "gemini", "vllm"])
def test_errors_of_its_server_come_in_the_dialects_shape(start: Start, upstream: MockUpstream, protocol: str) -> None:
    process = start(upstream, protocol=protocol)
    with calling(process) as client:
        upstream.script(Status(429), Header("retry-after", "7"), Body({"error": {"message": "slow down"}}))
        with pytest.raises(anthropic.RateLimitError, match="slow down") as told:
            client.messages.count_tokens(model="mock-model", messages=HELLO)
        assert told.value.response.headers["retry-after"] == "7"
        upstream.script(Body(b"["))
        with pytest.raises(anthropic.APIStatusError) as heard:
            client.messages.count_tokens(model="mock-model", messages=HELLO)
        assert heard.value.status_code == 502


def test_another_server_is_asked_where_one_fails(start: Start, upstream: MockUpstream, second: MockUpstream) -> None:
    upstream.script(Status(503), Body({"error": {"message": "down"}}))
    second.script(Body({"input_tokens": 9}))
    with calling(start(upstream, second, protocol="anthropic")) as client:
        assert client.messages.count_tokens(model="mock-model", messages=HELLO).input_tokens == 9


def test_a_caller_that_leaves_is_seen_by_the_server(start: Start, upstream: MockUpstream) -> None:
    upstream.script(Hang())
    with calling(start(upstream, protocol="gemini")) as client, pytest.raises(anthropic.APITimeoutError):
        client.with_options(timeout=1).messages.count_tokens(model="mock-model", messages=HELLO)
    assert upstream.wait_idle(2.0)
