"""Answers of one dialect's server written for a caller of the other, read by the vendors' own clients where they can."""

import json
from collections.abc import Iterable
from typing import Any

import anthropic as anthropic_sdk
import openai as openai_sdk
import pytest

from antiphon.core.errors import InvalidRequest, QueueFull, UpstreamBroken, UpstreamRefused
from antiphon.core.types import Usage
from antiphon.execution.wire import chat_answer as neutral
from antiphon.execution.wire.anthropic import chat as anthropic
from antiphon.execution.wire.chat import Text, Thinking, ToolCall
from antiphon.execution.wire.openai import chat as openai_chat
from tests.unit.execution.wire.official_clients import seen_by_anthropic, seen_by_openai

DONE = b"data: [DONE]\n\n"


def chunk(finish: str | None = None, /, **delta: Any) -> dict[str, Any]:
    return {"id": "c1", "model": "theirs", "created": 5, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def call(**fields: Any) -> dict[str, Any]:
    """A piece of a tool call, its name and arguments given beside its index and id."""
    function = {name: fields.pop(name) for name in ("name", "arguments") if name in fields}
    return {**fields, "function": function}


def sse(*events: dict[str, Any], done: bool = True) -> bytes:
    return b"".join(b"data: %s\n\n" % json.dumps(event).encode() for event in events) + (DONE if done else b"")


def named(*events: dict[str, Any]) -> bytes:
    return b"".join(b"event: %s\ndata: %s\n\n" % (event["type"].encode(), json.dumps(event).encode()) for event in events)


def read_openai(raw: bytes) -> list[neutral.Event]:
    reader = openai_chat.AnswerReader()
    return [*reader.feed(raw), *reader.end()]


def read_anthropic(raw: bytes) -> list[neutral.Event]:
    reader = anthropic.AnswerReader()
    return [*reader.feed(raw), *reader.end()]


def parts(events: Iterable[neutral.Event]) -> list[Any]:
    return neutral.answer_of(events).choices[0].parts


def for_anthropic(*events: dict[str, Any]) -> Any:
    return seen_by_anthropic(anthropic.AnswerWriter("mine", "r1").write(read_openai(sse(*events))))


def test_a_stream_of_text_for_anthropic() -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 1}}
    message = for_anthropic(
        chunk(role="assistant", content=""),
        chunk(content="Grü"),
        chunk(content="ße 👋"),
        chunk("stop"),
        {"choices": [], "usage": usage},
    )
    assert (message.id, message.model, message.role, message.stop_reason) == ("msg_c1", "mine", "assistant", "end_turn")
    assert [block.to_dict() for block in message.content] == [{"type": "text", "text": "Grüße 👋"}]
    assert (message.usage.input_tokens, message.usage.output_tokens) == (5, 3)
    assert (message.usage.cache_read_input_tokens, message.usage.cache_creation_input_tokens) == (4, 1)


def test_the_events_of_a_stream_for_anthropic_are_in_their_order() -> None:
    raw = anthropic.AnswerWriter("mine", "r1").write(read_openai(sse(chunk(content="a"), chunk("length"))))
    names = [line.removeprefix("event: ") for line in raw.decode().splitlines() if line.startswith("event")]
    assert names == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert b'"stop_reason":"max_tokens"' in raw


def test_thinking_text_and_calls_are_blocks_of_their_own() -> None:
    message = for_anthropic(
        chunk(reasoning_content="h"),
        chunk(reasoning="m"),
        chunk(content="a"),
        chunk(tool_calls=[call(index=0, id="x", name="f", arguments="")]),
        chunk(tool_calls=[call(index=0, arguments='{"a":')]),
        chunk(tool_calls=[call(index=0, arguments='"ł"}')]),
        chunk(tool_calls=[call(index=1, id="y", name="g", arguments="{}")]),
        chunk("tool_calls"),
    )
    assert [block.type for block in message.content] == ["thinking", "text", "tool_use", "tool_use"]
    assert message.content[0].thinking == "hm"
    assert [(block.id, block.name, block.input) for block in message.content[2:]] == [("x", "f", {"a": "ł"}), ("y", "g", {})]
    assert message.stop_reason == "tool_use"


def test_mixed_pieces_of_several_calls_become_one_block_after_the_other() -> None:
    message = for_anthropic(
        chunk(tool_calls=[call(index=0, id="x", name="f"), call(index=1, id="y", name="g"), call(index=2, id="z", name="h")]),
        chunk(tool_calls=[call(index=1, arguments='{"b"'), call(index=0, arguments='{"a"')]),
        chunk(tool_calls=[call(index=0, arguments=":1}"), call(index=1, arguments=":2}")]),
        chunk(content="so"),
        chunk("tool_calls"),
    )
    assert [getattr(block, "input", None) for block in message.content] == [{"a": 1}, {"b": 2}, {}, None]


@pytest.mark.parametrize(
    "pieces",
    [
        [[call(id="x", name="f", arguments='{"a":1}')], [call(id="y", name="g", arguments='{"b":2}')]],
        [[call(id="x", name="f", arguments='{"a":1}'), call(id="y", name="g", arguments='{"b":2}')]],
        [[call(index=0, id="x", name="f", arguments='{"a":1}')], [call(index=0, id="y", name="g", arguments='{"b":2}')]],
        [
            [call(index=0, id="x", name="f")],
            [call(id="x", arguments='{"a":1}')],
            [call(index=1, id="y", name="g", arguments='{"b":2}')],
        ],
        [
            [call(id="x", name="f")],
            [call(arguments='{"a"')],
            [call(arguments=":1}")],
            [call(id="y", name="g")],
            [call(arguments='{"b":2}')],
        ],
        [[call(index=3, id="x", name="f", arguments='{"a":1}')], [call(index=7, id="y", name="g", arguments='{"b":2}')]],
        [
            [call(index=0, id="x", name="f", arguments='{"a"')],
            [call(index=0, id="new", arguments=":1}")],
            [call(index=1, id="y", name="g", arguments='{"b":2}')],
        ],
        [
            [call(index=0, id="x")],
            [call(index=0, arguments='{"a"')],
            [call(index=0, name="f", arguments=":1}")],
            [call(index=1, id="y", name="g", arguments={"b": 2})],
        ],
        [
            [call(index=0, id="x", name="f", arguments='{"a"')],
            [call(index=0, id="x", name="f", arguments=":1}")],
            [call(index=1, id="y", name="g", arguments='{"b":2}')],
        ],
    ],
    ids=[
        "no index",
        "no index, at once",
        "one index",
        "index left out",
        "no index, no id",
        "odd numbers",
        "new id in each",
        "late name",
        "name twice",
    ],
)
def test_calls_are_told_apart_however_they_are_numbered(pieces: list[list[dict[str, Any]]]) -> None:
    events = read_openai(sse(*(chunk(tool_calls=piece) for piece in pieces), chunk("tool_calls")))
    calls = [(call.name, json.loads(call.arguments)) for call in parts(events)]
    assert calls == [("f", {"a": 1}), ("g", {"b": 2})]
    assert [event.call for event in events if isinstance(event, neutral.ToolCallBegan)] == [0, 1]
    assert [call.id for call in parts(events)] == ["x", "y"]


def test_an_index_that_begins_again_behind_a_text_is_another_call() -> None:
    first, second = call(index=0, name="f", arguments="{}"), call(index=0, name="f", arguments='{"b":2}')
    events = read_openai(sse(chunk(tool_calls=[first]), chunk(content="and"), chunk(tool_calls=[second]), chunk("stop")))
    called = [part for part in parts(events) if isinstance(part, ToolCall)]
    assert [call.arguments for call in called] == ["{}", '{"b":2}']
    assert len({call.id for call in called}) == 2
    assert neutral.Finished(0, "tool_calls") in events


def test_one_id_for_several_calls_is_made_two() -> None:
    both = [call(index=0, id="x", name="f", arguments="{}"), call(index=1, id="x", name="g", arguments="{}")]
    called = parts(read_openai(sse(chunk(tool_calls=both), chunk("tool_calls"))))
    assert [call.name for call in called] == ["f", "g"]
    assert called[0].id == "x" != called[1].id


def test_the_older_way_to_call_a_function() -> None:
    events = read_openai(
        sse(chunk(function_call={"name": "f", "arguments": ""}), chunk(function_call={"arguments": "{}"}), chunk("function_call"))
    )
    assert [(part.name, part.arguments) for part in parts(events)] == [("f", "{}")]
    assert neutral.Finished(0, "tool_calls") in events


@pytest.mark.parametrize(
    "events",
    [
        [chunk(content="a"), chunk("stop"), {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}}],
        [chunk(content="a"), {**chunk("stop"), "usage": {"prompt_tokens": 1, "completion_tokens": 2}}],
        [
            {**chunk(content="a"), "usage": {"prompt_tokens": 1, "completion_tokens": 1}},
            {**chunk("stop"), "usage": {"prompt_tokens": 1, "completion_tokens": 2}},
        ],
        [
            {**chunk(content="a"), "usage": None},
            chunk("stop"),
            *[{"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}}] * 2,
        ],
        [
            chunk(content="a"),
            chunk("stop"),
            {"choices": None, "usage": {"prompt_tokens": 1, "completion_tokens": 2}},
            {"choices": [], "usage": {"prompt_tokens": -5}},
        ],
    ],
    ids=["late", "with the end", "in each", "twice", "absurd"],
)
def test_usage_is_told_once_behind_the_end(events: list[dict[str, Any]]) -> None:
    read = read_openai(sse(*events))
    assert read[-3:] == [neutral.Finished(0, "stop"), neutral.Counted(Usage(1, 2, 3)), neutral.Ended()]
    assert [event for event in read if isinstance(event, neutral.Counted)] == [neutral.Counted(Usage(1, 2, 3))]


def test_usage_may_be_absent() -> None:
    read = read_openai(sse(chunk(content="a"), chunk("stop")))
    assert read == [neutral.Began("c1", "theirs", 5), neutral.TextDelta(0, "a"), neutral.Finished(0, "stop"), neutral.Ended()]
    assert b'"usage":{"input_tokens":0,"output_tokens":0}' in anthropic.AnswerWriter("m", "r").write(read)


def test_a_stream_may_end_without_a_reason_or_without_the_last_word() -> None:
    assert neutral.Finished(0, "stop") in read_openai(sse(chunk(content="a")))
    assert neutral.Finished(0, "length") in read_openai(sse(chunk(content="a"), chunk("length"), done=False))
    for raw in (sse(chunk(content="a"), done=False), b"", b": ping\n\n"):
        with pytest.raises(UpstreamBroken):
            read_openai(raw)
    with pytest.raises(UpstreamBroken):
        read_openai(b"data: {]\n\n")


def test_odd_ends_of_lines_and_what_comes_behind_the_end() -> None:
    raw = sse(chunk(content="a"), chunk("stop")).replace(b"\n", b"\r\n") + sse(chunk(content="b"))
    assert parts(read_openai(raw)) == [Text("a")]


def test_content_may_be_null_a_list_or_left_out() -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    events = sse(
        chunk(content=None),
        chunk(),
        chunk(content=[thought]),
        chunk(content=[{"type": "text", "text": "a"}, {"type": "odd"}]),
        chunk("eos"),
    )
    assert parts(read_openai(events)) == [Thinking("hm"), Text("a")]


def test_the_sequence_that_ended_it_is_told_where_it_is_known() -> None:
    ended = {**chunk(), "choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "stop_reason": "###"}]}
    message = for_anthropic(chunk(content="a"), ended)
    assert (message.stop_reason, message.stop_sequence) == ("stop_sequence", "###")


def test_a_refusal_is_text_and_a_reason() -> None:
    message = for_anthropic(chunk(refusal="I will not"), chunk("stop"))
    assert (message.content[0].text, message.stop_reason) == ("I will not", "refusal")
    assert for_anthropic(chunk(content="a"), chunk("content_filter")).stop_reason == "refusal"


def test_an_error_inside_a_stream_for_anthropic() -> None:
    error = {"error": {"message": "no room", "type": "server_error", "code": 503}}
    raw = anthropic.AnswerWriter("m", "r1").write(read_openai(sse(chunk(content="a"), error)))
    assert raw.endswith(
        b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"no room"},"request_id":"r1"}\n\n'
    )
    with pytest.raises(anthropic_sdk.APIStatusError, match="no room"):
        seen_by_anthropic(raw)


def test_an_error_inside_a_stream_for_openai() -> None:
    begin = {"type": "message_start", "message": {"id": "m1", "usage": {"input_tokens": 1}}}
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    raw = openai_chat.AnswerWriter("m", "r1").write(read_anthropic(named(begin, error)))
    assert DONE not in raw
    told = json.loads(raw.split(b"data: ")[-1])
    assert told == {
        "error": {"message": "Overloaded", "type": "server_error", "param": None, "code": "overloaded_error"},
        "request_id": "r1",
    }
    with pytest.raises(openai_sdk.APIError, match="Overloaded"):
        seen_by_openai(raw)


ANSWER: list[dict[str, Any]] = [
    {
        "type": "message_start",
        "message": {
            "id": "m1",
            "model": "theirs",
            "content": [],
            "usage": {"input_tokens": 5, "cache_read_input_tokens": 3, "output_tokens": 1},
        },
    },
    {"type": "ping"},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "sig"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "redacted_thinking", "data": "xyz"}},
    {"type": "content_block_stop", "index": 1},
    {"type": "content_block_start", "index": 2, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 2, "delta": {"type": "text_delta", "text": "Ł"}},
    {"type": "content_block_delta", "index": 2, "delta": {"type": "text_delta", "text": "ódź"}},
    {"type": "content_block_delta", "index": 2, "delta": {"type": "citations_delta", "citation": {}}},
    {"type": "content_block_stop", "index": 2},
    {
        "type": "content_block_start",
        "index": 3,
        "content_block": {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
    },
    {"type": "content_block_delta", "index": 3, "delta": {"type": "input_json_delta", "partial_json": "{}"}},
    {"type": "content_block_stop", "index": 3},
    {"type": "content_block_start", "index": 4, "content_block": {"type": "tool_use", "id": "t1", "name": "f", "input": {}}},
    {"type": "content_block_delta", "index": 4, "delta": {"type": "input_json_delta", "partial_json": ""}},
    {"type": "content_block_delta", "index": 4, "delta": {"type": "input_json_delta", "partial_json": '{"a":'}},
    {"type": "content_block_delta", "index": 4, "delta": {"type": "input_json_delta", "partial_json": "1}"}},
    {"type": "content_block_stop", "index": 4},
    {"type": "content_block_start", "index": 5, "content_block": {"type": "tool_use", "id": "t2", "name": "g", "input": {}}},
    {"type": "content_block_stop", "index": 5},
    {"type": "content_block_start", "index": 6, "content_block": {"type": "tool_use", "id": "t3", "name": "h", "input": {"b": 2}}},
    {"type": "content_block_stop", "index": 6},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": None},
        "usage": {"output_tokens": 7, "output_tokens_details": {"thinking_tokens": 2}},
    },
    {"type": "message_stop"},
]


def test_a_stream_for_openai() -> None:
    chunks = seen_by_openai(openai_chat.AnswerWriter("mine", "r1", wants_usage=True).write(read_anthropic(named(*ANSWER))))
    assert {(chunk.id, chunk.model, chunk.object) for chunk in chunks} == {("chatcmpl-m1", "mine", "chat.completion.chunk")}
    deltas = [choice.delta.to_dict() for chunk in chunks for choice in chunk.choices]
    assert deltas[0] == {"role": "assistant", "reasoning_content": "hm"}
    assert deltas[1:3] == [
        {"thinking_blocks": [{"type": "thinking", "thinking": "hm", "signature": "sig"}]},
        {"thinking_blocks": [{"type": "redacted_thinking", "data": "xyz"}]},
    ]
    assert "".join(delta.get("content", "") for delta in deltas) == "Łódź"
    calls: dict[int, list[str]] = {}
    for piece in [piece for delta in deltas for piece in delta.get("tool_calls", ())]:
        calls.setdefault(piece["index"], []).append(piece["function"]["arguments"])
    assert {index: json.loads("".join(texts)) for index, texts in calls.items()} == {0: {"a": 1}, 1: {}, 2: {"b": 2}}
    assert [choice.finish_reason for chunk in chunks for choice in chunk.choices if choice.finish_reason] == ["tool_calls"]
    usage = chunks[-1].usage
    assert chunks[-1].choices == []
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (8, 7, 15)
    assert (usage.prompt_tokens_details.cached_tokens, usage.completion_tokens_details.reasoning_tokens) == (3, 2)


def test_the_usage_chunk_is_only_for_those_who_asked() -> None:
    raw = openai_chat.AnswerWriter("mine", "r1").write(read_anthropic(named(*ANSWER)))
    assert b'"usage"' not in raw
    assert raw.endswith(DONE)


def test_an_absurd_count_of_anthropic_is_none() -> None:
    absurd = {**ANSWER[-2], "usage": {"output_tokens": -1}}
    counted = [event for event in read_anthropic(named(*ANSWER[:-2], absurd, ANSWER[-1])) if isinstance(event, neutral.Counted)]
    assert counted == [neutral.Counted(Usage(8, 1, 9, 3))]


def test_a_stream_of_anthropic_that_breaks_off() -> None:
    with pytest.raises(UpstreamBroken):
        read_anthropic(named(*ANSWER[:-2]))
    assert neutral.Finished(0, "tool_calls") in read_anthropic(named(*ANSWER[:-1]))
    with pytest.raises(UpstreamBroken):
        read_anthropic(b"event: ping\ndata: {]\n\n")


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("end_turn", "stop"),
        ("max_tokens", "length"),
        ("stop_sequence", "stop"),
        ("tool_use", "tool_calls"),
        ("pause_turn", "stop"),
        ("refusal", "content_filter"),
        ("model_context_window_exceeded", "length"),
        ("something_new", "stop"),
        (None, "stop"),
    ],
)
def test_reasons_for_the_end(theirs: str | None, ours: str) -> None:
    body = {
        "id": "m1",
        "content": [{"type": "text", "text": "a"}],
        "stop_reason": theirs,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    _, told = openai_chat.write_whole(anthropic.read_whole(json.dumps(body).encode()), "m", "r1")
    assert json.loads(told)["choices"][0]["finish_reason"] == ours


def test_a_whole_answer_for_anthropic() -> None:
    message = {
        "role": "assistant",
        "content": "a",
        "reasoning_content": "hm",
        "tool_calls": [{"id": "x", "type": "function", "function": {"name": "f", "arguments": '{"b": 12345678901234567890}'}}],
    }
    usage = {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13, "completion_tokens_details": {"reasoning_tokens": 2}}
    body = {"id": "c1", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage}
    status, told = anthropic.write_whole(openai_chat.read_whole(json.dumps(body).encode()), "mine", "r1")
    assert status == 200
    anthropic_sdk.types.Message.model_validate_json(told)
    assert json.loads(told) == {
        "id": "msg_c1",
        "type": "message",
        "role": "assistant",
        "model": "mine",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": ""},
            {"type": "text", "text": "a"},
            {"type": "tool_use", "id": "x", "name": "f", "input": {"b": 12345678901234567890}},
        ],
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {
            "input_tokens": 10,
            "output_tokens": 3,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens_details": {"thinking_tokens": 2},
        },
    }


def test_a_whole_answer_for_openai() -> None:
    status, told = openai_chat.write_whole(read_anthropic(named(*ANSWER)), "mine", "r1")
    assert status == 200
    answer = openai_sdk.types.chat.ChatCompletion.model_validate_json(told)
    message = answer.choices[0].message
    assert (answer.model, message.content, answer.choices[0].finish_reason) == ("mine", "Łódź", "tool_calls")
    assert [call.function.name for call in message.tool_calls] == ["f", "g", "h"]
    assert json.loads(told)["choices"][0]["message"]["thinking_blocks"] == [
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        {"type": "redacted_thinking", "data": "xyz"},
    ]


def test_several_choices_and_their_log_probabilities() -> None:
    def piece(index: int, text: str, finish: str | None = None) -> dict[str, Any]:
        told = {"content": [{"token": text, "logprob": -1.0, "bytes": None, "top_logprobs": []}], "refusal": None}
        return {"id": "c1", "choices": [{"index": index, "delta": {"content": text}, "logprobs": told, "finish_reason": finish}]}

    events = read_openai(sse(piece(1, "x"), piece(0, "a"), piece(0, "b", "stop"), piece(1, "y", "length")))
    answer = openai_sdk.types.chat.ChatCompletion.model_validate_json(openai_chat.write_whole(events, "m", "r1")[1])
    assert [(choice.message.content, choice.finish_reason) for choice in answer.choices] == [("ab", "stop"), ("xy", "length")]
    assert [token.token for token in answer.choices[1].logprobs.content] == ["x", "y"]
    assert neutral.answer_of(events).choices == neutral.answer_of(neutral.events_of(neutral.answer_of(events))).choices
    chunks = seen_by_openai(openai_chat.AnswerWriter("m", "r1").write(events))
    assert "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices if choice.index == 1) == "xy"
    assert seen_by_anthropic(anthropic.AnswerWriter("m", "r1").write(events)).content[0].text == "ab"


def test_arguments_that_are_not_json_are_the_servers_fault_unless_they_were_cut() -> None:
    broken = chunk(tool_calls=[call(index=0, id="x", name="f", arguments='{"a')])
    with pytest.raises(UpstreamBroken, match="f are not the JSON"):
        anthropic.write_whole(read_openai(sse(broken, chunk("tool_calls"))), "m", "r1")
    told = json.loads(anthropic.write_whole(read_openai(sse(broken, chunk("length"))), "m", "r1")[1])
    assert (told["content"][0]["input"], told["stop_reason"]) == ({}, "max_tokens")


def test_what_is_no_answer() -> None:
    for body in (b"", b"[]", b"{}", b'{"choices":[]}', b"<html>"):
        with pytest.raises(UpstreamBroken):
            openai_chat.read_whole(body)
        with pytest.raises(UpstreamBroken):
            anthropic.read_whole(body)


def test_an_error_in_place_of_a_whole_answer() -> None:
    status, told = anthropic.write_whole(openai_chat.read_whole(b'{"error":{"message":"too many","code":429}}'), "m", "r1")
    assert (status, json.loads(told)["error"]) == (429, {"type": "rate_limit_error", "message": "too many"})
    body = b'{"type":"error","error":{"type":"overloaded_error","message":"busy"}}'
    status, told = openai_chat.write_whole(anthropic.read_whole(body), "m", "r1")
    assert (status, json.loads(told)["error"]["message"]) == (503, "busy")


@pytest.mark.parametrize(
    ("body", "message", "code"),
    [
        (b'{"error":{"message":"m","type":"t","code":"c"}}', "m", "c"),
        (b'{"error":{"message":"m","type":"t","code":null}}', "m", "t"),
        (b'{"type":"error","error":{"type":"t","message":"m"},"request_id":"r"}', "m", "t"),
        (b'{"error":"m"}', "m", ""),
        (b'{"message":"m"}', "m", ""),
        (b'{"detail":"m"}', "m", ""),
        (b"m", "m", ""),
        (b"<html>m</html>", "the model's server answered with status 418; change the request, or choose another model", ""),
        (b"", "the model's server answered with status 418; change the request, or choose another model", ""),
        (b"[]", "the model's server answered with status 418; change the request, or choose another model", ""),
    ],
)
def test_what_error_bodies_say(body: bytes, message: str, code: str) -> None:
    assert openai_chat.read_error(418, body) == neutral.Failed(418, message, code)


def test_errors_for_callers() -> None:
    refused = UpstreamRefused(400, b'{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long"}}')
    status, told = openai_chat.render_error(refused, "r1")
    error = {"message": "prompt is too long", "type": "invalid_request_error", "param": None, "code": "invalid_request_error"}
    assert (status, json.loads(told)) == (400, {"error": error, "request_id": "r1"})
    status, told = anthropic.render_error(UpstreamRefused(401, b'{"error":{"message":"bad key"}}'), "r1")
    assert (status, json.loads(told)["error"]["type"]) == (502, "api_error")
    status, told = anthropic.render_error(InvalidRequest("`n` is wrong", remedy="mend it", param="n"), "r1")
    assert (status, json.loads(told)) == (
        400,
        {"type": "error", "error": {"type": "invalid_request_error", "message": "`n` is wrong; mend it"}, "request_id": "r1"},
    )
    assert anthropic.render_error(QueueFull(), "r1")[0] == 429
    assert openai_chat.render_error(QueueFull(), "r1")[0] == 429
    assert b'"type":"rate_limit_error"' in anthropic.AnswerWriter("m", "r1").fail(QueueFull())
    assert openai_chat.AnswerWriter("m", "r1").fail(QueueFull()).startswith(b'data: {"error":')
