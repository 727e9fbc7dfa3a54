"""Anthropic's dialect at the door, in front of servers that speak OpenAI's: what its official client makes of it."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import pytest

from antiphon.testing import Body, Cut, Done, Event, Header, MockUpstream, Status
from tests.integration.gateway.data_plane import Running

Start = Callable[..., Running]
HELLO: Any = [{"role": "user", "content": "hello"}]
WRONG: Any = [{"role": "user", "content": 7}]
EVENTS = Header("content-type", "text/event-stream")
TOOL: Any = {
    "name": "weather",
    "description": "The weather of a place.",
    "input_schema": {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
}


@pytest.fixture
def client(start: Start, upstream: MockUpstream) -> Iterator[anthropic.Anthropic]:
    process = start(upstream)
    with anthropic.Anthropic(base_url=process.url, api_key="sk-test", max_retries=0, timeout=20) as client:
        yield client


def chunk(delta: dict[str, Any], **choice: Any) -> Event:
    said = {"index": 0, "delta": delta, **choice}
    return Event({"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "mock-model", "choices": [said]})


def usage(prompt: int, completion: int, cached: int = 0) -> Event:
    counts = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return Event({"id": "c1", "choices": [], "usage": {**counts, "prompt_tokens_details": {"cached_tokens": cached}}})


def test_a_whole_answer(client: anthropic.Anthropic, upstream: MockUpstream) -> None:
    upstream.chat("Grüße, 世界")
    message = client.messages.create(
        model="mock-model",
        max_tokens=50,
        system="Be brief.",
        messages=HELLO,
        stop_sequences=["END"],
        extra_body={"temperature": 0.5},
    )
    assert message.type == "message"
    assert message.id.startswith("msg_")
    assert message._request_id == upstream.requests[0].header("x-request-id")
    assert message.role == "assistant"
    assert message.model == "mock-model"
    assert message.content[0].type == "text"
    assert message.content[0].text == "Grüße, 世界"
    assert message.stop_reason == "end_turn"
    assert message.usage.input_tokens > 0
    assert message.usage.output_tokens > 0
    (request,) = upstream.requests
    assert request.path == "/v1/chat/completions"
    asked = request.json
    assert asked["messages"][0] == {"role": "system", "content": "Be brief."}
    assert asked["messages"][1] == {"role": "user", "content": "hello"}
    assert (asked["stop"], asked["temperature"], asked["max_tokens"]) == (["END"], 0.5, 50)


def test_a_streamed_answer_with_its_usage(client: anthropic.Anthropic, upstream: MockUpstream) -> None:
    parts = ["Grü", "ße, ", "世界"]
    upstream.script(
        EVENTS, chunk({"role": "assistant", "content": ""}), *(chunk({"content": part}) for part in parts),
        chunk({}, finish_reason="stop"), usage(12, 3, cached=4), Done(),
    )  # fmt: skip
    with client.messages.stream(model="mock-model", max_tokens=50, messages=HELLO) as stream:
        assert list(stream.text_stream) == parts
        message = stream.get_final_message()
    assert message.stop_reason == "end_turn"
    assert (message.usage.input_tokens, message.usage.cache_read_input_tokens, message.usage.output_tokens) == (8, 4, 3)
    assert upstream.requests[0].json["stream_options"] == {"include_usage": True}


def test_tools_from_the_question_to_the_answer(client: anthropic.Anthropic, upstream: MockUpstream) -> None:
    first = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "weather", "arguments": ""}}
    pieces = [{"index": 0, "function": {"arguments": piece}} for piece in ('{"pla', 'ce": "', 'Köln"}')]
    upstream.script(
        EVENTS, chunk({"content": "Let me look."}), chunk({"tool_calls": [first]}),
        *(chunk({"tool_calls": [piece]}) for piece in pieces), chunk({}, finish_reason="tool_calls"), usage(20, 9), Done(),
    )  # fmt: skip
    with client.messages.stream(model="mock-model", max_tokens=50, messages=HELLO, tools=[TOOL]) as stream:
        message = stream.get_final_message()
    assert message.stop_reason == "tool_use"
    assert [block.type for block in message.content] == ["text", "tool_use"]
    call = message.content[1]
    assert call.type == "tool_use"
    assert (call.id, call.name, call.input) == ("call_1", "weather", {"place": "Köln"})
    function = upstream.requests[0].json["tools"][0]["function"]
    assert (function["name"], function["parameters"]) == ("weather", TOOL["input_schema"])

    upstream.chat("It rains.")
    result = {"type": "tool_result", "tool_use_id": "call_1", "content": "rain"}
    history: Any = [*HELLO, {"role": "assistant", "content": message.content}, {"role": "user", "content": [result]}]
    again = client.messages.create(model="mock-model", max_tokens=50, messages=history, tools=[TOOL])
    assert again.content[0].type == "text"
    asked = upstream.requests[-1].json["messages"]
    function = asked[1]["tool_calls"][0]["function"]
    assert (function["name"], json.loads(function["arguments"])) == ("weather", {"place": "Köln"})
    assert asked[2] == {"role": "tool", "tool_call_id": "call_1", "content": "rain"}


def test_errors_come_in_the_dialects_shape(client: anthropic.Anthropic, upstream: MockUpstream) -> None:
    with pytest.raises(anthropic.NotFoundError, match="nobody"):
        client.messages.create(model="nobody", max_tokens=5, messages=HELLO)
    with pytest.raises(anthropic.BadRequestError, match=r"messages\[0\]"):
        client.messages.create(model="mock-model", max_tokens=5, messages=WRONG)
    upstream.script(Status(429), Header("retry-after", "7"), Body({"error": {"message": "slow down", "type": "rate_limit"}}))
    with pytest.raises(anthropic.RateLimitError, match="slow down") as told:
        client.messages.create(model="mock-model", max_tokens=5, messages=HELLO)
    assert told.value.response.headers["retry-after"] == "7"
    body: Any = told.value.body
    assert (body["type"], body["error"]["type"]) == ("error", "rate_limit_error")
    assert body["request_id"] == told.value.response.headers["x-request-id"] == told.value.request_id


def test_what_is_not_served_is_refused_in_the_dialects_shape(client: anthropic.Anthropic, upstream: MockUpstream) -> None:
    with pytest.raises(anthropic.NotFoundError, match="/v1/messages/batches") as told:
        client.messages.batches.list()
    body: Any = told.value.body
    assert (body["type"], body["error"]["type"]) == ("error", "not_found_error")


def test_a_stream_that_is_cut_off_ends_with_an_error_event(client: anthropic.Anthropic, upstream: MockUpstream) -> None:
    upstream.script(EVENTS, chunk({"content": "half"}), Cut())
    with (
        pytest.raises(anthropic.APIStatusError, match="closed the connection"),
        client.messages.stream(model="mock-model", max_tokens=5, messages=HELLO) as stream,
    ):
        list(stream)


@pytest.mark.parametrize("piece", [{"choices": 7}, {"choices": [{"index": 0, "delta": 7}]}])
def test_what_is_no_answer_is_an_error_and_no_crash(client: anthropic.Anthropic, upstream: MockUpstream, piece: Any) -> None:
    upstream.script(EVENTS, chunk({"content": "half"}), Event(piece), chunk({}, finish_reason="stop"), Done())
    with (
        pytest.raises(anthropic.APIStatusError),
        client.messages.stream(model="mock-model", max_tokens=5, messages=HELLO) as stream,
    ):
        list(stream)


def test_keys_are_shown_as_its_clients_do(start: Start, upstream: MockUpstream) -> None:
    upstream.chat("Hello")
    process = start(upstream, more='server: {keys: [{name: alice, key: "sk-alice"}]}')
    ask: Any = {"model": "mock-model", "max_tokens": 5, "messages": HELLO}
    with anthropic.Anthropic(base_url=process.url, api_key="sk-alice", max_retries=0) as client:
        assert client.messages.create(**ask).content
    with (
        anthropic.Anthropic(base_url=process.url, api_key="sk-wrong", max_retries=0) as client,
        pytest.raises(anthropic.AuthenticationError, match="not known here"),
    ):
        client.messages.create(**ask)
