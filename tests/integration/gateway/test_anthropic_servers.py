"""Servers that speak Anthropic's dialect, asked by callers of theirs and of OpenAI's."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from antiphon.testing import Body, Cut, Event, Hang, Header, MockUpstream, Status, Wire
from tests.integration.gateway.data_plane import Running

Start = Callable[..., Running]
HELLO: Any = [{"role": "user", "content": "hello"}]
EVENTS = Header("content-type", "text/event-stream; charset=utf-8")
SCHEMA: Any = {
    "type": "object",
    "properties": {"place": {"type": "string"}},
    "required": ["place"],
    "additionalProperties": False,
}
TOOL: Any = {"type": "function", "function": {"name": "weather", "description": "The weather.", "parameters": SCHEMA}}
ROW: Any = {"protocol": "anthropic", "key": "sk-ant-secret"}


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


def named(**event: Any) -> Event:
    return Event(event, event["type"])


def began(**usage: int) -> Event:
    counts = {"input_tokens": 10, "output_tokens": 1, **usage}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "mock-model", "content": [], "usage": counts}
    return named(type="message_start", message=message)


def block(index: int, content: dict[str, Any], *deltas: dict[str, Any]) -> list[Event]:
    return [
        named(type="content_block_start", index=index, content_block=content),
        *(named(type="content_block_delta", index=index, delta=delta) for delta in deltas),
        named(type="content_block_stop", index=index),
    ]


def text(index: int, *pieces: str) -> list[Event]:
    return block(index, {"type": "text", "text": ""}, *({"type": "text_delta", "text": piece} for piece in pieces))


def tool(index: int, identity: str, *pieces: str) -> list[Event]:
    called = {"type": "tool_use", "id": identity, "name": "weather", "input": {}}
    return block(index, called, *({"type": "input_json_delta", "partial_json": piece} for piece in pieces))


def ended(reason: str, **usage: int) -> list[Event]:
    last = named(type="message_delta", delta={"stop_reason": reason, "stop_sequence": None}, usage={"output_tokens": 5, **usage})
    return [last, named(type="message_stop")]


def whole(*content: dict[str, Any], reason: str = "end_turn") -> Body:
    usage = {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 3}
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "mock-model"}
    return Body({**head, "content": content, "stop_reason": reason, "stop_sequence": None, "usage": usage})


def test_a_whole_answer(client: openai.OpenAI, upstream: MockUpstream) -> None:
    upstream.script(whole({"type": "text", "text": "Grüße, 世界"}))
    answer = client.chat.completions.create(
        model="mock-model",
        messages=[{"role": "system", "content": "Be brief."}, *HELLO],
        max_completion_tokens=50,
        stop="END",
        temperature=0.5,
    )
    assert answer.choices[0].message.content == "Grüße, 世界"
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (13, 5)
    assert answer.usage.prompt_tokens_details is not None
    assert answer.usage.prompt_tokens_details.cached_tokens == 3
    (request,) = upstream.requests
    assert request.path == "/v1/messages"
    assert (request.header("x-api-key"), request.header("anthropic-version")) == ("sk-ant-secret", "2023-06-01")
    assert not request.header("authorization")
    asked = request.json
    assert (asked["max_tokens"], asked["stop_sequences"], asked["temperature"]) == (50, ["END"], 0.5)
    assert asked["messages"] == [{"role": "user", "content": "hello"}]


def test_a_streamed_answer_with_its_usage(client: openai.OpenAI, upstream: MockUpstream) -> None:
    parts = ["Grü", "ße, ", "世界"]
    upstream.script(EVENTS, began(), *text(0, *parts), *ended("max_tokens"))
    chunks = list(
        client.chat.completions.create(
            model="mock-model", messages=HELLO, stream=True, stream_options={"include_usage": True}, max_tokens=5
        )
    )
    assert [delta for chunk in chunks for choice in chunk.choices if (delta := choice.delta.content)] == parts
    assert chunks[-2].choices[0].finish_reason == "length"
    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None
    assert (chunks[-1].usage.prompt_tokens, chunks[-1].usage.completion_tokens) == (10, 5)


def test_no_usage_is_told_unasked_but_it_is_counted(running: Running, upstream: MockUpstream) -> None:
    upstream.script(EVENTS, began(), *text(0, "x"), *ended("end_turn"))
    chunks = list(running.client().chat.completions.create(model="mock-model", messages=HELLO, stream=True))
    assert all(chunk.usage is None and chunk.choices for chunk in chunks)
    running.stop()
    (call,) = running.calls()
    assert (call["prompt_tokens"], call["completion_tokens"]) == (10, 5)


def test_tools_from_the_question_to_the_answer(client: openai.OpenAI, upstream: MockUpstream) -> None:
    upstream.script(
        EVENTS, began(), *text(0, "Let me look."), *tool(1, "toolu_1", '{"pla', 'ce": "', 'Köln"}'),
        *text(2, "And there."), *tool(3, "toolu_2"), *ended("tool_use"),
    )  # fmt: skip
    with client.chat.completions.stream(model="mock-model", messages=HELLO, tools=[TOOL]) as stream:
        answer = stream.get_final_completion()
    message = answer.choices[0].message
    assert answer.choices[0].finish_reason == "tool_calls"
    assert message.content == "Let me look.And there."
    assert message.tool_calls is not None
    assert [(call.id, json.loads(call.function.arguments)) for call in message.tool_calls] == [
        ("toolu_1", {"place": "Köln"}),
        ("toolu_2", {}),
    ]
    asked = upstream.requests[0].json
    assert asked["tools"][0]["input_schema"] == SCHEMA

    upstream.script(whole({"type": "text", "text": "It rains."}))
    results: Any = [{"role": "tool", "tool_call_id": call.id, "content": "rain"} for call in message.tool_calls]
    said: Any = message.model_dump(exclude_none=True, exclude={"parsed"})
    client.chat.completions.create(model="mock-model", messages=[*HELLO, said, *results], tools=[TOOL])
    told = upstream.requests[-1].json["messages"]
    assert [block["type"] for block in told[1]["content"]] == ["text", "tool_use", "tool_use"]
    assert [(block["type"], block["tool_use_id"]) for block in told[2]["content"]] == [
        ("tool_result", "toolu_1"),
        ("tool_result", "toolu_2"),
    ]


def test_structured_output(client: openai.OpenAI, upstream: MockUpstream) -> None:
    upstream.script(whole({"type": "text", "text": '{"place":"Bonn"}'}))
    shape: Any = {"type": "json_schema", "json_schema": {"name": "place", "schema": SCHEMA, "strict": True}}
    answer = client.chat.completions.create(model="mock-model", messages=HELLO, response_format=shape)
    assert json.loads(answer.choices[0].message.content or "") == {"place": "Bonn"}
    assert upstream.requests[0].json["output_config"] == {"format": {"type": "json_schema", "schema": SCHEMA}}


@pytest.mark.parametrize(
    ("fields", "param"),
    [({"n": 2}, "n"), ({"logprobs": True}, "logprobs"), ({"seed": 1}, "seed"), ({"presence_penalty": 1}, "presence_penalty")],
)
def test_what_it_cannot_do_is_refused_by_name_or_left_out_if_allowed(
    client: openai.OpenAI, upstream: MockUpstream, fields: dict[str, Any], param: str
) -> None:
    ask: Any = {"model": "mock-model", "messages": HELLO, **fields}
    with pytest.raises(openai.BadRequestError) as told:
        client.chat.completions.create(**ask)
    assert told.value.param == param
    assert not upstream.requests
    upstream.script(whole({"type": "text", "text": "x"}))
    raw = client.chat.completions.with_raw_response.create(**ask, extra_body={"drop_unsupported": True})
    assert raw.headers["x-antiphon-dropped"] == param
    assert not {param, "drop_unsupported"} & set(upstream.requests[0].json)


def test_names_and_a_late_system_prompt_go_only_where_the_caller_allows_it(client: openai.OpenAI, upstream: MockUpstream) -> None:
    def named(text: str, name: str) -> Any:
        return {"role": "user", "name": name, "content": text}

    late: Any = {"role": "system", "content": "LATE"}
    messages: Any = [named("a", "bob"), {"role": "assistant", "content": "b"}, late, named("c", "eve")]
    with pytest.raises(openai.BadRequestError) as told:
        client.chat.completions.create(model="mock-model", messages=messages)
    assert told.value.param == "messages[0].name"
    assert not upstream.requests
    upstream.script(whole({"type": "text", "text": "x"}))
    raw = client.chat.completions.with_raw_response.create(
        model="mock-model", messages=messages, extra_body={"drop_unsupported": True}
    )
    assert raw.headers["x-antiphon-dropped"] == "messages[0].name, messages[3].name, messages[2].role"
    asked = upstream.requests[0].json
    assert asked["system"] == "LATE"
    assert asked["messages"] == [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": "c"},
    ]


def test_however_much_was_left_out_its_header_stays_short(client: openai.OpenAI, upstream: MockUpstream) -> None:
    upstream.script(whole({"type": "text", "text": "x"}))
    messages: Any = [{"role": "user", "name": "bob", "content": "a"}] * 2000
    raw = client.chat.completions.with_raw_response.create(
        model="mock-model", messages=messages, extra_body={"drop_unsupported": True}
    )
    told = raw.headers["x-antiphon-dropped"]
    assert told.startswith("messages[0].name, messages[1].name, ")
    assert told.endswith(", and more; 2000 in all")


def test_errors_come_in_the_callers_shape(client: openai.OpenAI, native: anthropic.Anthropic, upstream: MockUpstream) -> None:
    body = {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down, sk-ant-secret"}, "request_id": "r"}
    upstream.script(Status(429), Header("retry-after", "7"), Body(body), times=2)
    with pytest.raises(openai.RateLimitError, match="slow down") as told:
        client.chat.completions.create(model="mock-model", messages=HELLO)
    assert told.value.response.headers["retry-after"] == "7"
    assert told.value.type == "rate_limit_error"
    assert "sk-ant-secret" not in told.value.response.text
    with pytest.raises(anthropic.RateLimitError) as heard:
        native.messages.create(model="mock-model", max_tokens=5, messages=HELLO)
    assert heard.value.body == json.loads(json.dumps(body).replace("sk-ant-secret", "***"))


def test_an_overloaded_server_tells_so_inside_its_stream(client: openai.OpenAI, upstream: MockUpstream) -> None:
    failed = named(type="error", error={"type": "overloaded_error", "message": "Overloaded"})
    upstream.script(EVENTS, began(), *text(0, "half")[:2], failed)
    stream = client.chat.completions.create(model="mock-model", messages=HELLO, stream=True)
    seen = []
    with pytest.raises(openai.APIError, match="Overloaded"):
        seen.extend(chunk.choices[0].delta.content for chunk in stream)
    assert seen[-1] == "half"


def test_a_server_that_is_overloaded_before_any_text_is_replaced(
    start: Start, upstream: MockUpstream, second: MockUpstream
) -> None:
    client = start(upstream, second, **ROW).client()
    upstream.script(EVENTS, began(), named(type="error", error={"type": "overloaded_error", "message": "Overloaded"}))
    second.script(EVENTS, began(), *text(0, "from the second"), *ended("end_turn"))
    stream = client.chat.completions.create(model="mock-model", messages=HELLO, stream=True)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in stream) == "from the second"


@pytest.mark.parametrize("end", [[], [Cut()]])
def test_a_stream_that_is_cut_off_is_an_error_on_both_dialects(
    client: openai.OpenAI, native: anthropic.Anthropic, upstream: MockUpstream, end: list[Any]
) -> None:
    upstream.script(EVENTS, began(), *text(0, "half"), *end, times=2)
    with pytest.raises(openai.APIError):
        list(client.chat.completions.create(model="mock-model", messages=HELLO, stream=True))
    with (
        pytest.raises(anthropic.APIStatusError),
        native.messages.stream(model="mock-model", max_tokens=5, messages=HELLO) as stream,
    ):
        list(stream)


ANSWER = [began(cache_read_input_tokens=4), *text(0, "Grüße 👩‍👩‍👧‍👦"), named(type="ping"), *tool(1, "toolu_1", '{"a":', "1}"),
          named(type="from_the_future", index=3, news=[1, {"x": None}]), *ended("tool_use")]  # fmt: skip


@pytest.mark.parametrize(
    "wire", [Wire(), Wire(write_size=1), Wire(newline="\r\n"), Wire(merge=0), Wire(write_size=7, newline="\r\n")]
)
def test_between_caller_and_server_of_the_dialect_no_byte_changes(running: Running, upstream: MockUpstream, wire: Wire) -> None:
    sent = b"".join(_bytes(event, wire.newline) for event in ANSWER)
    upstream.script(EVENTS, *ANSWER, wire=wire)
    ask = {"model": "mock-model", "max_tokens": 5, "messages": HELLO, "stream": True, "of_the_future": {"b": [1.50, "\\u00e9"]}}
    body = json.dumps(ask, indent=1).encode()
    answer = httpx2.post(f"{running.url}/v1/messages", content=body, headers={"content-type": "application/json"})
    assert answer.content == sent
    assert upstream.requests[0].body == body
    running.stop()
    (call,) = running.calls()
    assert (call["prompt_tokens"], call["completion_tokens"], call["cached_tokens"]) == (14, 5, 4)


def _bytes(event: Event, newline: str) -> bytes:
    lines = (
        f"event: {event.event}".encode(),
        b"data: " + json.dumps(event.data, separators=(",", ":"), ensure_ascii=False).encode(),
    )
    return newline.encode().join((*lines, b"", b""))


def test_the_callers_name_of_the_model_is_the_one_it_hears(start: Start, upstream: MockUpstream) -> None:
    running = start(upstream, models=[{"name": "mine", "upstream": "mock-model"}], **ROW)
    upstream.script(EVENTS, began(), *text(0, '"model":"mock-model"'), *ended("end_turn"))
    with (
        anthropic.Anthropic(base_url=running.url, api_key="sk-test", max_retries=0, timeout=20) as native,
        native.messages.stream(model="mine", max_tokens=5, messages=HELLO) as stream,
    ):
        message = stream.get_final_message()
    assert message.model == "mine"
    assert message.content[0].type == "text"
    assert message.content[0].text == '"model":"mock-model"'
    assert upstream.requests[0].json["model"] == "mock-model"


def test_what_only_openai_serves_is_refused(client: openai.OpenAI, upstream: MockUpstream) -> None:
    with pytest.raises(openai.BadRequestError, match="does not serve /v1/embeddings"):
        client.embeddings.create(model="mock-model", input="x")
    with pytest.raises(openai.BadRequestError, match="does not serve /v1/completions"):
        client.completions.create(model="mock-model", prompt="x")
    assert not upstream.requests


def test_a_caller_that_leaves_is_seen_by_the_server(client: openai.OpenAI, upstream: MockUpstream) -> None:
    upstream.script(EVENTS, began(), *text(0, "one", "two")[:3], Hang())
    stream = client.chat.completions.create(model="mock-model", messages=HELLO, stream=True)
    for chunk in stream:
        if chunk.choices and chunk.choices[0].delta.content == "two":
            break
    stream.close()
    assert upstream.wait_idle(1.0)
