"""Servers that speak DashScope's native protocol, asked by callers of OpenAI's dialect and of Anthropic's."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from antiphon.testing import Body, Cut, Header, MockUpstream, Raw, Status, Wire
from tests.integration.gateway.data_plane import Running

Start = Callable[..., Running]
HELLO: Any = [{"role": "user", "content": "hello"}]
EVENTS = Header("content-type", "text/event-stream;charset=UTF-8")
TOOL: Any = {"type": "function", "function": {"name": "weather", "description": "The weather.", "parameters": {"type": "object"}}}
ROW: Any = {"protocol": "dashscope", "key": "sk-dashscope"}
TEXT = "/v1/services/aigc/text-generation/generation"


@pytest.fixture
def running(start: Start, upstream: MockUpstream) -> Running:
    return start(upstream, **ROW)


@pytest.fixture
def client(running: Running) -> openai.OpenAI:
    return running.client()


@pytest.fixture
def native(running: Running) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=running.url, api_key="sk-test", max_retries=0, timeout=20) as client:
        yield client


def result(finish: str = "null", **message: Any) -> Body:
    """One event, as the server writes it."""
    said = {"message": {"role": "assistant", "content": "", **message}, "finish_reason": finish}
    usage = {"input_tokens": 12, "output_tokens": 5, "total_tokens": 17, "prompt_tokens_details": {"cached_tokens": 4}}
    body = {"output": {"choices": [said]}, "usage": usage, "request_id": "r-1"}
    return Body(b"id:1\nevent:result\n:HTTP_STATUS/200\ndata:%b\n\n" % json.dumps(body, ensure_ascii=False).encode())


def failure(status: int, code: str, message: str) -> bytes:
    error = {"code": code, "message": message, "request_id": "r-1"}
    return b"id:1\nevent:error\n:HTTP_STATUS/%d\ndata:%b\n\n" % (status, json.dumps(error).encode())


def test_a_streamed_answer_with_thoughts_and_usage(client: openai.OpenAI, upstream: MockUpstream) -> None:
    upstream.script(EVENTS, result(reasoning_content="hm"), result(content="Grü"), result(content="ße"), result("stop"))
    stream = client.chat.completions.create(
        model="mock-model",
        messages=HELLO,
        stream=True,
        stream_options={"include_usage": True},
        extra_body={"enable_thinking": True, "thinking_budget": 100},
    )
    chunks = list(stream)
    deltas = [choice.delta for chunk in chunks for choice in chunk.choices]
    assert [delta.content for delta in deltas if delta.content] == ["Grü", "ße"]
    assert [text for delta in deltas if (text := getattr(delta, "reasoning_content", None))] == ["hm"]
    assert [choice.finish_reason for chunk in chunks for choice in chunk.choices][-1] == "stop"
    usage = chunks[-1].usage
    assert usage is not None
    assert usage.prompt_tokens_details is not None
    assert (usage.prompt_tokens, usage.completion_tokens, usage.prompt_tokens_details.cached_tokens) == (12, 5, 4)
    (request,) = upstream.requests
    assert request.path == TEXT
    assert (request.header("authorization"), request.header("x-dashscope-sse")) == ("Bearer sk-dashscope", "enable")
    assert request.json == {
        "model": "mock-model",
        "input": {"messages": HELLO},
        "parameters": {"result_format": "message", "incremental_output": True, "enable_thinking": True, "thinking_budget": 100},
    }


def test_an_answer_in_one_piece_is_gathered_from_a_stream(client: openai.OpenAI, upstream: MockUpstream) -> None:
    """Thinking, and some models altogether, come in a stream alone: whoever wants no stream is served all the same."""
    upstream.script(
        EVENTS, result(reasoning_content="hm"), result(content="Hello"), result("stop", content=" there"), wire=Wire(write_size=7)
    )
    answer = client.chat.completions.create(model="mock-model", messages=HELLO, extra_body={"enable_thinking": True})
    message = answer.choices[0].message
    assert (message.content, getattr(message, "reasoning_content", None)) == ("Hello there", "hm")
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage is not None
    assert answer.usage.total_tokens == 17
    assert upstream.requests[0].header("x-dashscope-sse") == "enable"


def test_tools_from_the_question_to_the_answer(native: anthropic.Anthropic, upstream: MockUpstream) -> None:
    def piece(index: int, identity: str, **function: str) -> dict[str, Any]:
        return {"tool_calls": [{"index": index, "id": identity, "type": "function", "function": function}]}

    upstream.script(
        EVENTS,
        result(**piece(0, "call_a", name="weather", arguments='{"place": ')),
        result(**piece(0, "", arguments='"Köln"}')),
        result("tool_calls", **piece(1, "call_b", name="weather", arguments='{"place": "Bonn"}')),
    )
    tool: Any = {"name": "weather", "input_schema": {"type": "object"}}
    message = native.messages.create(model="mock-model", max_tokens=50, messages=HELLO, tools=[tool])
    assert message.stop_reason == "tool_use"
    assert [(block.id, block.input) for block in message.content if block.type == "tool_use"] == [
        ("call_a", {"place": "Köln"}),
        ("call_b", {"place": "Bonn"}),
    ]
    upstream.script(EVENTS, result("stop", content="It rains."))
    results = [{"type": "tool_result", "tool_use_id": name, "content": "rain"} for name in ("call_a", "call_b")]
    history: Any = [*HELLO, {"role": "assistant", "content": message.content}, {"role": "user", "content": results}]
    assert native.messages.create(model="mock-model", max_tokens=50, messages=history, tools=[tool]).content
    told = upstream.requests[-1].json["input"]["messages"]
    assert [call["id"] for call in told[1]["tool_calls"]] == ["call_a", "call_b"]
    assert told[2] == {"role": "tool", "tool_call_id": "call_a", "content": "rain"}


def test_models_that_see(start: Start, upstream: MockUpstream) -> None:
    client = start(upstream, protocol="dashscope_multimodal").client()
    upstream.script(EVENTS, result(content=[{"text": "A dog"}]), result("stop", content=[{"text": "."}]))
    content: Any = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}, {"type": "text", "text": "What?"}]
    answer = client.chat.completions.create(model="mock-model", messages=[{"role": "user", "content": content}])
    assert answer.choices[0].message.content == "A dog."
    (request,) = upstream.requests
    assert request.path == "/v1/services/aigc/multimodal-generation/generation"
    assert request.json["input"]["messages"][0]["content"] == [{"image": "data:image/png;base64,aGk="}, {"text": "What?"}]


def test_models_of_text_see_nothing_and_say_so(client: openai.OpenAI, upstream: MockUpstream) -> None:
    content: Any = [{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]
    with pytest.raises(openai.BadRequestError, match=r"messages\[0\]\.content"):
        client.chat.completions.create(model="mock-model", messages=[{"role": "user", "content": content}])
    assert not upstream.requests


@pytest.mark.parametrize("stream", [False, True])
def test_an_error_in_an_event_under_its_status(client: openai.OpenAI, upstream: MockUpstream, stream: bool) -> None:
    body = failure(400, "InvalidParameter", "Range of max_tokens should be [1, 8192]")
    upstream.script(Status(400), Header("content-type", "application/json"), Body(body))
    with pytest.raises(openai.BadRequestError, match="Range of max_tokens") as told:
        client.chat.completions.create(model="mock-model", messages=HELLO, stream=stream)
    assert told.value.code == "InvalidParameter"


@pytest.mark.parametrize("stream", [False, True])
def test_an_error_inside_a_stream(client: openai.OpenAI, upstream: MockUpstream, stream: bool) -> None:
    upstream.script(EVENTS, result(content="half"), Body(failure(429, "Throttling.RateQuota", "slow down")))
    with pytest.raises((openai.RateLimitError, openai.APIError), match="slow down"):
        list(client.chat.completions.create(model="mock-model", messages=HELLO, stream=stream))


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("end", [[Cut()], [Raw(b"")], [Body(b"data: {\n\n")]])
def test_an_answer_that_is_cut_off_is_no_answer(client: openai.OpenAI, upstream: MockUpstream, stream: bool, end: Any) -> None:
    upstream.script(EVENTS, result(content="half"), *end)
    with pytest.raises(openai.APIError):
        list(client.chat.completions.create(model="mock-model", messages=HELLO, stream=stream))


def test_a_server_that_does_not_stream_is_told_of(client: openai.OpenAI, upstream: MockUpstream) -> None:
    upstream.script(Body({"output": {"text": "hi", "finish_reason": "stop"}}))
    with pytest.raises(openai.InternalServerError, match="streamed call"):
        client.chat.completions.create(model="mock-model", messages=HELLO)


def test_texts_are_embedded(client: openai.OpenAI, upstream: MockUpstream) -> None:
    vectors = [{"text_index": 1, "embedding": [0.25, -1]}, {"text_index": 0, "embedding": [1.5, 2]}]
    upstream.script(Body({"output": {"embeddings": vectors}, "usage": {"total_tokens": 4}, "request_id": "r-1"}))
    answer = client.embeddings.create(model="mock-model", input=["red", "green"], dimensions=64)
    assert [one.embedding for one in answer.data] == [[1.5, 2], [0.25, -1]]
    assert answer.usage.prompt_tokens == 4
    [request] = upstream.requests
    assert request.path == "/v1/services/embeddings/text-embedding/text-embedding"
    assert request.header("x-dashscope-sse") == ""
    assert request.json == {"model": "mock-model", "input": {"texts": ["red", "green"]}, "parameters": {"dimension": 64}}


def test_documents_are_ranked(running: Running, upstream: MockUpstream) -> None:
    found = [{"index": 1, "relevance_score": 0.75}, {"index": 0, "relevance_score": 0.25}]
    upstream.script(Body({"output": {"results": found}, "usage": {"total_tokens": 4}, "request_id": "r-1"}))
    asked = {"model": "mock-model", "query": "sea", "documents": ["red", "blue"], "return_documents": False}
    answer = httpx2.post(f"{running.url}/v1/rerank", json=asked).json()
    assert answer["results"] == found
    [request] = upstream.requests
    assert request.path == "/v1/services/rerank/text-rerank/text-rerank"
    assert request.json == {"model": "mock-model", "input": {"query": "sea", "documents": ["red", "blue"]}}
