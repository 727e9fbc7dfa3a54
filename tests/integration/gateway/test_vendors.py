"""Vendors that speak OpenAI's dialect with words of their own: what the official clients say, and what arrives there."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from antiphon.testing import Body, Done, Event, Header, MockUpstream
from tests.integration.gateway.data_plane import DataPlaneProcess, Running

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "vendors.md"
Start = Callable[..., Running]
HELLO: Any = [{"role": "user", "content": "hello"}]
EVENTS = Header("content-type", "text/event-stream")
CALL: Any = {"id": "call_0123456789", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
HISTORY: Any = [
    {"role": "developer", "content": "Be brief."},
    *HELLO,
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": CALL["id"], "content": "rain"},
]


def native(process: Running) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=process.url, api_key="sk-test", max_retries=0, timeout=20)


@pytest.fixture
def asked(start: Start, upstream: MockUpstream) -> Callable[..., Any]:
    """What a vendor's server gets of a call by the official client."""

    def ask(protocol: str, **fields: Any) -> Any:
        upstream.chat("hi")
        start(upstream, protocol=protocol).client().chat.completions.create(model="mock-model", messages=HISTORY, **fields)
        return upstream.requests[-1].json

    return ask


@pytest.mark.parametrize("protocol", ["deepseek", "zhipu", "tgi", "together", "mistral"])
def test_who_knows_max_tokens_alone_gets_it(asked: Callable[..., Any], protocol: str) -> None:
    told = asked(protocol, max_completion_tokens=9)
    assert (told["max_tokens"], "max_completion_tokens" in told) == (9, False)
    assert told["messages"][0] == {"role": "system", "content": "Be brief."}


def test_who_knows_all_gets_every_byte_as_it_came(start: Start, upstream: MockUpstream) -> None:
    upstream.chat("hi")
    body = b'{ "model":"mock-model", "max_completion_tokens" : 9,"messages":[{"role":"developer","content":"hi"}] }'
    process = start(upstream, protocol="vllm")
    with httpx2.Client() as client:
        headers = {"authorization": "Bearer sk-test", "content-type": "application/json"}
        assert client.post(f"{process.url}/v1/chat/completions", content=body, headers=headers).status_code == 200
    assert upstream.requests[0].body == body


def test_mistral_gets_its_names_its_ids_and_nothing_that_it_forbids(start: Start, upstream: MockUpstream) -> None:
    upstream.chat("hi", usage=True)
    client = start(upstream, protocol="mistral").client()
    options: Any = {"include_usage": True}
    chunks = list(client.chat.completions.create(model="mock-model", messages=HISTORY, seed=7, stream=True, stream_options=options))
    assert chunks[-1].usage is not None
    told = upstream.requests[0].json
    assert told["random_seed"] == 7
    assert not {"seed", "stream_options"} & told.keys()
    (call,) = told["messages"][2]["tool_calls"]
    assert len(call["id"]) == 9
    assert call["id"].isalnum()
    assert told["messages"][3]["tool_call_id"] == call["id"]


@pytest.mark.parametrize(
    ("protocol", "fields", "param"),
    [
        ("groq", {"logprobs": True}, "logprobs"),
        ("groq", {"n": 2}, "n"),
        (
            "deepseek",
            {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}}},
            "response_format",
        ),
        ("zhipu", {"n": 2}, "n"),
        ("moonshot", {"seed": 1}, "seed"),
    ],
)
def test_what_a_vendor_cannot_do_is_refused_by_name(
    start: Start, upstream: MockUpstream, protocol: str, fields: Any, param: str
) -> None:
    client = start(upstream, protocol=protocol).client()
    with pytest.raises(openai.BadRequestError) as told:
        client.chat.completions.create(model="mock-model", messages=HELLO, **fields)
    assert told.value.param == param
    assert not upstream.requests


def test_a_row_may_know_better(start: Start, upstream: MockUpstream) -> None:
    upstream.chat("hi")
    client = start(upstream, protocol="groq", capabilities={"logprobs": True}).client()
    assert client.chat.completions.create(model="mock-model", messages=HELLO, logprobs=True).choices
    assert upstream.requests[0].json["logprobs"] is True


@pytest.mark.parametrize(
    ("protocol", "told"),
    [
        ("deepseek", {"thinking": {"type": "enabled"}, "reasoning_effort": "low"}),
        ("zhipu", {"thinking": {"type": "enabled"}}),
        ("qwen", {"enable_thinking": True, "thinking_budget": 2000}),
        ("openrouter", {"reasoning": {"max_tokens": 2000}}),
        ("groq", {}),
        ("vllm", {}),
    ],
)
def test_thinking_is_asked_for_in_each_vendors_words(start: Start, upstream: MockUpstream, protocol: str, told: Any) -> None:
    upstream.chat("hi", usage=True)
    thinking: Any = {"type": "enabled", "budget_tokens": 2000}
    with native(start(upstream, protocol=protocol)) as client:
        answer = client.messages.create(model="mock-model", max_tokens=4000, messages=HELLO, extra_body={"thinking": thinking})
    assert answer.content[0].text == "hi"
    body = upstream.requests[0].json
    names = {"thinking", "reasoning_effort", "enable_thinking", "thinking_budget", "reasoning"}
    assert {name: body[name] for name in names & body.keys()} == told


def test_thoughts_go_back_to_deepseek_and_come_as_blocks(start: Start, upstream: MockUpstream) -> None:
    def chunk(finish: str | None = None, **delta: Any) -> Event:
        return Event({"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    usage = {"prompt_tokens": 9, "completion_tokens": 2, "prompt_cache_hit_tokens": 5, "prompt_cache_miss_tokens": 4}
    upstream.script(
        EVENTS,
        chunk(reasoning_content="hm"),
        chunk(tool_calls=[{"index": 0, **CALL}]),
        chunk("tool_calls"),
        Event({"id": "c", "choices": [], "usage": usage}),
        Done(),
    )
    tool: Any = {"name": "weather", "input_schema": {"type": "object"}}
    with native(start(upstream, protocol="deepseek")) as client:
        with client.messages.stream(model="mock-model", max_tokens=50, messages=HELLO, tools=[tool]) as stream:
            message = stream.get_final_message()
        assert [block.type for block in message.content] == ["thinking", "tool_use"]
        assert (message.usage.cache_read_input_tokens, message.usage.input_tokens) == (5, 4)
        upstream.chat("It rains.")
        result = {"type": "tool_result", "tool_use_id": CALL["id"], "content": "rain"}
        history: Any = [*HELLO, {"role": "assistant", "content": message.content}, {"role": "user", "content": [result]}]
        client.messages.create(model="mock-model", max_tokens=50, messages=history, tools=[tool])
    assert upstream.requests[-1].json["messages"][1]["reasoning_content"] == "hm"


def test_qwen_is_asked_for_a_stream_by_callers_of_another_dialect(start: Start, upstream: MockUpstream) -> None:
    """Some of its models answer in no other way; callers of its own dialect are answered as they ask."""
    upstream.chat("Hel", "lo", usage=True)
    process = start(upstream, protocol="qwen")
    with native(process) as client:
        answer = client.messages.create(model="mock-model", max_tokens=50, messages=HELLO)
    assert answer.content[0].text == "Hello"
    assert answer.usage.output_tokens == 2
    assert upstream.requests[0].json["stream"] is True
    upstream.chat("Hello")
    process.client().chat.completions.create(model="mock-model", messages=HELLO)
    assert "stream" not in upstream.requests[1].json


def test_azure_at_its_newer_address(start: Start, upstream: MockUpstream) -> None:
    upstream.chat("hi")
    client = start(upstream, protocol="azure", url=f"http://127.0.0.1:{upstream.port}/openai/v1", key="azure-key").client()
    client.chat.completions.create(model="mock-model", messages=HELLO, max_tokens=9)
    (request,) = upstream.requests
    assert request.path == "/openai/v1/chat/completions"
    assert (request.header("api-key"), request.header("authorization")) == ("azure-key", "")
    assert request.json["max_completion_tokens"] == 9


DEPLOYMENT: Any = {"protocol": "azure", "key": "azure-key", "api_version": "2024-10-21"}


@pytest.fixture
def azure(start: Start, upstream: MockUpstream) -> Running:
    row = {**DEPLOYMENT, "url": f"http://127.0.0.1:{upstream.port}", "models": [{"name": "gpt", "upstream": "my gpt/4"}]}
    return start(upstream, **row)


def test_azure_at_the_address_of_a_deployment(azure: Running, upstream: MockUpstream) -> None:
    filtered = {"choices": [], "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": {}}]}
    content = {"index": 0, "delta": {"content": "hi"}, "content_filter_results": {}}
    last = {"index": 0, "delta": {}, "finish_reason": "content_filter"}
    events = [filtered, {"choices": [content]}, {"choices": [last]}]
    upstream.script(EVENTS, *(Event(event) for event in events), Done())
    chunks = list(azure.client().chat.completions.create(model="gpt", messages=HELLO, stream=True))
    assert [chunk.to_dict() for chunk in chunks] == events
    (request,) = upstream.requests
    assert request.path == "/openai/deployments/my%20gpt%2F4/chat/completions"
    assert request.query == "api-version=2024-10-21"
    assert request.header("api-key") == "azure-key"
    upstream.script(EVENTS, *(Event(event) for event in events), Done())
    with native(azure) as client, client.messages.stream(model="gpt", max_tokens=5, messages=HELLO) as stream:
        message = stream.get_final_message()
    assert (message.content[0].text, message.stop_reason) == ("hi", "refusal")
    assert upstream.requests[1].json["max_completion_tokens"] == 5


def test_an_error_of_azures_filter_is_passed_on(azure: Running, upstream: MockUpstream) -> None:
    inner = {"code": "ResponsibleAIPolicyViolation", "content_filter_result": {"hate": {"filtered": True, "severity": "high"}}}
    error = {
        "message": "The response was filtered.",
        "type": None,
        "param": "prompt",
        "code": "content_filter",
        "innererror": inner,
    }
    upstream.script(Body({"error": {**error, "status": 400}}), times=1)
    with pytest.raises(openai.APIStatusError, match="filtered"):
        azure.client().chat.completions.create(model="gpt", messages=HELLO)


@pytest.mark.parametrize("block", range(4))
def test_the_rows_of_the_page(tmp_path: Path, block: int) -> None:
    rows = re.findall(r"^```yaml\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)[block]
    keys = {name: f"key-of-{name}" for name in re.findall(r"\$\{(\w+)\}", rows)}
    process = DataPlaneProcess(rows, tmp_path, environ=keys)
    try:
        with process.client() as client:
            served = {model.id for model in client.models.list()}
    finally:
        process.stop()
    assert served == {model.name for row in process.settings.providers for model in row.models}
