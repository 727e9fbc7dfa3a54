"""What is asked and answered in the Responses dialect means the same behind servers of other dialects, and comes back unchanged."""

import json
from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from openai.types.responses import ResponseItem
from pydantic import TypeAdapter

from antiphon.core.errors import InvalidRequest, UpstreamBroken
from antiphon.execution.wire.anthropic import chat as anthropic
from antiphon.execution.wire.openai import chat as openai_chat
from antiphon.execution.wire.responses import conversation, ids, passing
from antiphon.execution.wire.responses.answer_writer import AnswerWriter, write_whole
from antiphon.execution.wire.responses.request_reader import decode_request
from tests.unit.execution.wire.cases import CASES, FEWER, cases
from tests.unit.execution.wire.responses_shapes import events_in, response_in
from tests.unit.execution.wire.test_dialect_round_trips import (
    ABLE,
    JSON,
    NAME,
    OBJECT,
    TEXT,
    answers,
    cut,
    mutated,
    some,
)

URL = st.sampled_from(["https://example.com/a.png", "data:image/png;base64,aGk="])
Pair = tuple[dict[str, Any], dict[str, Any]]
"""The same in the Responses dialect, and as OpenAI's chat endpoint has it."""


def text(words: str) -> Pair:
    return {"type": "input_text", "text": words}, {"type": "text", "text": words}


def image(url: str) -> Pair:
    there = {"type": "image_url", "image_url": {"url": url, "detail": "low"}}
    return {"type": "input_image", "image_url": url, "detail": "low"}, there


PARTS = st.lists(st.builds(text, TEXT) | st.builds(image, URL), min_size=2, max_size=3)


@st.composite
def conversations(draw: st.DrawFn) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Items, and the messages that they make up."""
    items: list[dict[str, Any]] = []
    messages: list[dict[str, Any]] = []
    for turn in range(draw(st.integers(1, 3))):
        parts = draw(PARTS)
        items.append({"type": "message", "role": "user", "content": [part for part, _ in parts]})
        messages.append({"role": "user", "content": [part for _, part in parts]})
        calls = [(f"call_{turn}_{number}", draw(NAME), json.dumps(draw(OBJECT))) for number in range(draw(st.integers(0, 2)))]
        words = draw(TEXT)
        items.append({"role": "assistant", "content": [{"type": "output_text", "text": words, "annotations": []}]})
        messages.append({"role": "assistant", "content": words})
        for identity, name, arguments in calls:
            call = {"type": "function_call", "call_id": identity, "name": name, "arguments": arguments}
            items.append({**call, **draw(some(id=st.just(f"fc_{identity}"), status=st.just("completed")))})
            function = {"name": name, "arguments": arguments}
            messages[-1].setdefault("tool_calls", []).append({"id": identity, "type": "function", "function": function})
        for identity, *_ in calls:
            output = draw(TEXT)
            items.append(
                {"type": "function_call_output", "call_id": identity, "output": draw(st.sampled_from([output, [text(output)[0]]]))}
            )
            messages.append({"role": "tool", "tool_call_id": identity, "content": output})
    last = draw(TEXT)
    return [*items, {"role": "user", "content": last}], [*messages, {"role": "user", "content": last}]


FUNCTION = st.builds(
    lambda name, properties, rest: {"name": name, "parameters": {"type": "object", "properties": properties}, **rest},
    NAME,
    OBJECT,
    some(description=TEXT, strict=st.booleans()),
)


@st.composite
def requests(draw: st.DrawFn) -> Pair:
    items, messages = draw(conversations())
    asked: dict[str, Any] = {"model": "m", "input": items}
    told: dict[str, Any] = {"model": "m", "messages": messages}
    if draw(st.booleans()):
        asked["instructions"] = draw(TEXT)
        told["messages"] = [{"role": "system", "content": asked["instructions"]}, *messages]
    same = draw(some(temperature=st.floats(0, 2), top_p=st.floats(0, 1), seed=st.integers(0, 9), parallel_tool_calls=st.booleans()))
    length = draw(some(max_output_tokens=st.integers(1, 999)))
    asked |= same | length | draw(some(metadata=st.just({"a": "b"}), store=st.booleans(), truncation=st.just("disabled")))
    told |= {name: value for name, value in same.items() if name != "parallel_tool_calls"}
    told |= {"max_tokens": length["max_output_tokens"]} if length else {}
    tools = draw(st.lists(FUNCTION, max_size=2))
    if tools:
        asked["tools"] = [{"type": "function", **tool} for tool in tools]
        told["tools"] = [{"type": "function", "function": tool} for tool in tools]
        told |= {name: value for name, value in same.items() if name == "parallel_tool_calls"}
    if draw(st.booleans()):
        wanted = {"name": "answer", "schema": draw(OBJECT), "strict": True}
        asked["text"] = {"format": {"type": "json_schema", **wanted}}
        told["response_format"] = {"type": "json_schema", "json_schema": wanted}
    return asked, told


@CASES
@given(requests())
def test_a_request_asks_the_same_of_a_chat_server(asked: Pair) -> None:
    there = openai_chat.encode_request(decode_request(json.dumps(asked[0]).encode()), ABLE)
    assert json.loads(there) == asked[1]


@FEWER
@given(requests())
def test_what_was_asked_is_kept_as_items_of_the_official_package(asked: Pair) -> None:
    response = ids.new()
    kept = conversation.kept_input(conversation.read_asked(json.dumps(asked[0]).encode()).items, response)
    TypeAdapter(list[ResponseItem]).validate_json(kept)
    items, _ = conversation.asked_and_answered(kept, b"{}")
    assert len(conversation.by_name(items)) == len(items)
    again = conversation.expanded(json.dumps(asked[0]).encode(), items)
    there = openai_chat.encode_request(decode_request(again), ABLE)
    assert json.loads(there) == asked[1]


@FEWER
@given(requests(), st.data())
def test_a_wrong_request_is_refused_and_nothing_else(asked: Pair, data: st.DataObject) -> None:
    body = mutated({**asked[0], "previous_response_id": ids.new()}, data)
    with suppress(InvalidRequest):
        openai_chat.encode_request(decode_request(body), ABLE)
        conversation.kept_input(conversation.read_asked(body).items, ids.new())
    with suppress(InvalidRequest):
        anthropic.encode_request(decode_request(body), ABLE)
    with suppress(InvalidRequest):
        told = conversation.read_asked(body)
        conversation.resolved(told, conversation.references(told, body), {})
        json.loads(passing.for_server(body))


def content_of(response: dict[str, Any]) -> list[dict[str, Any]]:
    """What Anthropic's server is shown of a response that a caller gives back."""
    items = [{"role": "user", "content": "?"}, *response["output"], {"role": "user", "content": "well?"}]
    asked = decode_request(json.dumps({"model": "m", "input": items, "max_output_tokens": 9}).encode())
    turns = json.loads(anthropic.encode_request(asked, ABLE))["messages"]
    content = [block for turn in turns if turn["role"] == "assistant" for block in plain(turn["content"])]
    return joined(content)


def plain(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def joined(content: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Neighbouring texts as one."""
    blocks: list[dict[str, Any]] = []
    for block in content:
        if block["type"] == "text" and blocks and blocks[-1]["type"] == "text":
            blocks[-1] = {"type": "text", "text": blocks[-1]["text"] + block["text"]}
        else:
            blocks.append(block)
    return blocks


REQUEST = decode_request(b'{"model": "m", "input": "?"}')


@CASES
@given(answers())
def test_an_answer_comes_back_word_for_word(answer: dict[str, Any]) -> None:
    response = response_in(write_whole(anthropic.read_whole(json.dumps(answer).encode()), REQUEST))
    assert content_of(response) == joined(answer["content"])


@cases(0.2)
@given(answers(), st.data())
def test_a_streamed_answer_says_what_a_whole_one_does(answer: dict[str, Any], data: st.DataObject) -> None:
    events = anthropic.read_whole(json.dumps(answer).encode())
    raw = AnswerWriter(REQUEST).write(piece for event in events for piece in cut(event, data))
    last = events_in(raw)[-1]["response"]
    whole = response_in(write_whole(events, REQUEST))
    assert (content_of(last), last["status"], last["usage"]) == (content_of(whole), whole["status"], whole["usage"])
    finale = conversation.finale(raw)
    assert finale is not None
    assert finale.before + finale.event(finale.response) == raw
    assert json.loads(conversation.with_store(finale.response, kept=True)) == {**last, "store": True}


@FEWER
@given(answers(), st.data())
def test_a_wrong_answer_is_the_servers_fault_and_nothing_else(answer: dict[str, Any], data: st.DataObject) -> None:
    with suppress(UpstreamBroken):
        write_whole(anthropic.read_whole(mutated(answer, data)), REQUEST)
    body = openai_chat.write_whole(anthropic.read_whole(json.dumps(answer).encode()), "m", "r")[1]
    with suppress(UpstreamBroken):
        events = openai_chat.read_whole(mutated(json.loads(body), data))
        write_whole(events, REQUEST)
        events_in(AnswerWriter(REQUEST).write(events))


@FEWER
@given(answers(), st.data())
def test_odd_events_of_a_server_of_the_same_dialect_break_nothing(answer: dict[str, Any], data: st.DataObject) -> None:
    raw = AnswerWriter(REQUEST).write(anthropic.read_whole(json.dumps(answer).encode()))
    events = raw.removesuffix(b"\n\n").split(b"\n\n")
    place = data.draw(st.integers(0, len(events) - 1))
    name, told = events[place].split(b"\ndata: ")
    odd = data.draw(st.just(mutated(json.loads(told), data)) | st.builds(lambda value: json.dumps(value).encode(), JSON))
    events[place] = name + b"\ndata: " + odd
    watch = passing.Watch(False)
    for event in events:
        taken = watch.take(event + b"\n\n")
        assert taken == event + b"\n\n" or watch.failure is not None
    with suppress(UpstreamBroken):
        watch.finish()
    watch.usage()
