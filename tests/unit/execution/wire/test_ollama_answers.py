"""Answers of Ollama's servers written for callers of other dialects, and those of other servers written for Ollama's callers."""

import json
import time
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from ollama import ChatResponse, GenerateResponse

from antiphon.core.errors import InvalidRequest, QueueFull, UpstreamBroken, UpstreamRefused
from antiphon.core.types import Usage
from antiphon.execution.wire import chat_answer as neutral
from antiphon.execution.wire.anthropic import chat as anthropic
from antiphon.execution.wire.chat import ChatRequest, Text, Thinking, ToolCall
from antiphon.execution.wire.ollama import chat as ollama
from antiphon.execution.wire.ollama.passing import Watch, read_passed
from antiphon.execution.wire.openai import chat as openai_chat

ASKED = ChatRequest(dialect="ollama", model="mine", messages=())
COUNTS = {"prompt_eval_count": 12, "eval_count": 3}
CREATED = "2026-01-02T03:04:05.678901234Z"
SECONDS = 1_767_323_045
LAST = {"done": True, "done_reason": "stop", "total_duration": 9, "load_duration": 1, **COUNTS}
TOKENS: list[dict[str, Any]] = [
    {"token": "a", "logprob": -0.5, "bytes": [97], "top_logprobs": [{"token": "b", "logprob": -1.5}]},
    {"token": "c", "logprob": -0.25},
]


def line(content: str = "", /, **fields: Any) -> dict[str, Any]:
    """A line of a stream; ``thinking`` and ``tool_calls`` belong to its message."""
    message: dict[str, Any] = {name: fields.pop(name) for name in ("thinking", "tool_calls") if name in fields}
    said: dict[str, Any] = {"role": "assistant", "content": content, **message}
    return {"model": "theirs", "created_at": CREATED, "message": said, "done": False, **fields}


def called(name: str, arguments: Any, /, **fields: Any) -> dict[str, Any]:
    index = {"index": fields.pop("index")} if "index" in fields else {}
    return {**fields, "function": {**index, "name": name, "arguments": arguments}}


def ndjson(*lines: dict[str, Any], end: bytes = b"\n") -> bytes:
    return b"".join(json.dumps(told).encode() + end for told in lines)


def read(*lines: dict[str, Any]) -> list[neutral.Event]:
    reader = ollama.AnswerReader()
    return [*reader.feed(ndjson(*lines)), *reader.end()]


def whole(**fields: Any) -> list[neutral.Event]:
    return ollama.read_whole(json.dumps(line(**{**LAST, **fields})).encode())


def parts(events: Iterable[neutral.Event]) -> list[Any]:
    return neutral.answer_of(events).choices[0].parts


def written(*events: neutral.Event) -> list[dict[str, Any]]:
    """The lines for these events, an end behind them."""
    raw = ollama.AnswerWriter(ASKED, "r1").write([*events, neutral.Ended()])
    return [json.loads(told) for told in raw.splitlines()]


# -- read


def test_a_stream_of_text() -> None:
    assert read(line("Grü"), line("ße 👋"), line(**LAST)) == [
        neutral.Began("", "theirs", SECONDS),
        neutral.TextDelta(0, "Grü"),
        neutral.TextDelta(0, "ße 👋"),
        neutral.Finished(0, "stop"),
        neutral.Counted(Usage(12, 3, 15)),
        neutral.Ended(),
    ]


def test_a_whole_answer() -> None:
    body = {**line("hello", thinking="hm", tool_calls=[called("f", {"a": 1}, id="x")]), **LAST}
    events = ollama.read_whole(json.dumps(body).encode())
    assert parts(events) == [Thinking("hm"), Text("hello"), ToolCall("x", "f", '{"a": 1}')]
    assert events[-3:] == [neutral.Finished(0, "tool_calls"), neutral.Counted(Usage(12, 3, 15)), neutral.Ended()]


def test_line_ends_and_empty_lines_do_not_matter() -> None:
    plain = read(line("a"), line(**LAST))
    for end in (b"\r\n", b"\n\n", b" \n"):
        reader = ollama.AnswerReader()
        assert [*reader.feed(ndjson(line("a"), line(**LAST), end=end)), *reader.end()] == plain
    reader = ollama.AnswerReader()
    assert [*reader.feed(ndjson(line("a"))), *reader.feed(ndjson(line(**LAST)).rstrip())] == plain


def test_text_in_the_last_line_counts() -> None:
    assert parts(read(line("a"), line("b", **LAST))) == [Text("ab")]


@pytest.mark.parametrize(
    "lines",
    [
        [line(tool_calls=[called("f", {"a": 1}), called("g", {"b": "ł"})])],
        [line(tool_calls=[called("f", {"a": 1})]), line(tool_calls=[called("g", {"b": "ł"})])],
        [line(tool_calls=[called("f", {"a": 1}, index=0)]), line(tool_calls=[called("g", {"b": "ł"}, index=0)])],
        [line(tool_calls=[called("f", {"a": 1}, index=3)]), line(tool_calls=[called("g", {"b": "ł"}, index=1)])],
        [line(tool_calls=[called("f", {"a": 1}, id="x"), called("g", {"b": "ł"}, id="x")])],
        [line(tool_calls=[called("f", '{"a": 1}')]), line(tool_calls=[called("g", '{"b": "ł"}')])],
    ],
    ids=["at once", "in turn", "one index", "odd indexes", "one id", "arguments as text"],
)
def test_calls_are_told_apart_however_they_are_numbered(lines: list[dict[str, Any]]) -> None:
    events = read(*lines, line(**LAST))
    calls = [part for part in parts(events) if isinstance(part, ToolCall)]
    assert [(call.name, json.loads(call.arguments)) for call in calls] == [("f", {"a": 1}), ("g", {"b": "ł"})]
    assert [event.call for event in events if isinstance(event, neutral.ToolCallBegan)] == [0, 1]
    assert len({call.id for call in calls}) == 2
    assert all(call.id for call in calls)
    assert neutral.Finished(0, "tool_calls") in events


def test_calls_with_text_around_them() -> None:
    events = read(line("a"), line("b", tool_calls=[called("f", {})]), line("c"), line(tool_calls=[called("g", None)]), line(**LAST))
    assert [part.text for part in parts(events) if isinstance(part, Text)] == ["ab", "c"]
    assert [(part.name, part.arguments) for part in parts(events) if isinstance(part, ToolCall)] == [("f", "{}"), ("g", "{}")]


def test_arguments_keep_their_digits() -> None:
    raw = b'{"message":{"tool_calls":[{"function":{"name":"f","arguments":{"n":12345678901234567890123,"x":1.50}}}]},"done":true}'
    assert parts(ollama.read_whole(raw))[0].arguments == '{"n":12345678901234567890123,"x":1.50}'


@pytest.mark.parametrize(
    ("told", "reason"),
    [("stop", "stop"), ("length", "length"), ("content_filter", "content_filter"), ("load", "stop"), ("", "stop"), (None, "stop")],
)
def test_reasons_for_the_end(told: str | None, reason: str) -> None:
    assert neutral.Finished(0, reason) in read(line("a"), line(**{**LAST, "done_reason": told}))


def test_a_call_cut_off_by_the_length_is_told_as_such() -> None:
    events = read(line(tool_calls=[called("f", {})]), line(**{**LAST, "done_reason": "length"}))
    assert neutral.Finished(0, "length") in events


@pytest.mark.parametrize(
    ("counts", "usage"),
    [
        ({"prompt_eval_count": 12, "eval_count": 3}, Usage(12, 3, 15)),
        ({"eval_count": 3}, Usage(0, 3, 3)),
        ({"prompt_eval_count": 12}, Usage(12, 0, 12)),
        ({"prompt_eval_count": -1, "eval_count": 3}, Usage(0, 3, 3)),
        ({"prompt_eval_count": True, "eval_count": 2**60}, None),
        ({"prompt_eval_count": "12", "eval_count": None}, None),
        ({}, None),
    ],
)
def test_usage_is_told_once_as_far_as_it_is_known(counts: dict[str, Any], usage: Usage | None) -> None:
    events = read(line("a", prompt_eval_count=5), line(done=True, **counts))
    assert [event.usage for event in events if isinstance(event, neutral.Counted)] == ([usage] if usage is not None else [])


def test_a_stream_without_its_last_line_is_cut_off() -> None:
    for lines in ([], [line("a")], [line("a"), line("b")]):
        with pytest.raises(UpstreamBroken):
            read(*lines)


def test_nothing_counts_behind_the_last_line() -> None:
    assert read(line("a"), line(**LAST), line("b"), line(**LAST)) == read(line("a"), line(**LAST))


def test_an_error_inside_a_stream_ends_it() -> None:
    events = read(line("a"), {"error": "out of memory"}, line("b"))
    assert events[-2:] == [neutral.Failed(502, "out of memory"), neutral.Ended()]
    assert neutral.TextDelta(0, "b") not in events
    assert ollama.read_whole(b'{"error": "no"}') == [neutral.Failed(502, "no"), neutral.Ended()]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"7",
        b"{}",
        b'{"done": true}',
        b'{"message": 7, "done": true}',
        b'{"message": {"content": "a"}, "done": false}',
        b'{"message": {"tool_calls": [{"function": {}}]}, "done": true}',
        b'{"message": {"content": "a"}, "logprobs": 7, "done": true}',
        b'{"message": {"content": "a\xff"}, "done": true}',
    ],
)
def test_what_is_no_answer_is_the_servers_fault(body: bytes) -> None:
    with pytest.raises(UpstreamBroken):
        ollama.read_whole(body)


@pytest.mark.parametrize("created", [None, "", "soon", 7, "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z", [], CREATED])
def test_any_time_will_do(created: Any) -> None:
    began = read(line("a", created_at=created), line(**LAST))[0]
    assert isinstance(began, neutral.Began)
    assert began.created >= 0
    assert written(began)[0]["created_at"]


def test_logprobs_reach_callers_of_openai_with_the_finish_reason() -> None:
    events = read(line("ac", logprobs=TOKENS), line(**LAST, logprobs=None))
    (choice,) = json.loads(openai_chat.write_whole(events, "m", "r")[1])["choices"]
    assert choice["finish_reason"] == "stop"
    assert choice["logprobs"]["content"] == [
        {"token": "a", "logprob": -0.5, "bytes": [97], "top_logprobs": [{"token": "b", "logprob": -1.5, "bytes": None}]},
        {"token": "c", "logprob": -0.25, "bytes": None, "top_logprobs": []},
    ]


def test_thinking_and_calls_for_anthropic() -> None:
    events = read(line(thinking="h"), line(thinking="m"), line("a"), line(tool_calls=[called("f", {"a": 1}, id="x")]), line(**LAST))
    body = json.loads(anthropic.write_whole(events, "m", "r")[1])
    assert body["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": ""},
        {"type": "text", "text": "a"},
        {"type": "tool_use", "id": "x", "name": "f", "input": {"a": 1}},
    ]
    assert body["stop_reason"] == "tool_use"
    assert body["usage"]["input_tokens"] == 12


# -- written


def test_a_stream_for_ollamas_callers() -> None:
    before = time.monotonic()
    lines = written(
        neutral.Began("c1", "theirs", SECONDS),
        neutral.ThinkingDelta(0, "hm"),
        neutral.TextDelta(0, "Grü"),
        neutral.TextDelta(0, "ße"),
        neutral.Finished(0, "length"),
        neutral.Counted(Usage(12, 3, 15, 4)),
    )
    took = lines[-1].pop("total_duration")
    assert 0 < took <= (time.monotonic() - before) * 1e9
    head = {"model": "mine", "created_at": "2026-01-02T03:04:05Z"}
    assert lines == [
        {**head, "message": {"role": "assistant", "content": "", "thinking": "hm"}, "done": False},
        {**head, "message": {"role": "assistant", "content": "Grü"}, "done": False},
        {**head, "message": {"role": "assistant", "content": "ße"}, "done": False},
        {**head, "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "length", **COUNTS},
    ]
    assert [ChatResponse(**told).message.content for told in lines] == ["", "Grü", "ße", ""]


def test_a_generation_for_ollamas_callers() -> None:
    events = [
        neutral.Began("c1", "theirs", SECONDS),
        neutral.ThinkingDelta(0, "hm"),
        neutral.TextDelta(0, "hello"),
        neutral.Finished(0, "stop"),
        neutral.Counted(Usage(12, 3, 15)),
        neutral.Ended(),
    ]
    raw = ollama.GeneratedWriter(ASKED, "r1").write(events)
    lines = [GenerateResponse(**json.loads(told)) for told in raw.splitlines()]
    assert [(told.response, told.thinking, told.done) for told in lines] == [
        ("", "hm", False),
        ("hello", None, False),
        ("", None, True),
    ]
    assert (lines[-1].done_reason, lines[-1].prompt_eval_count, lines[-1].eval_count) == ("stop", 12, 3)
    status, body = ollama.write_whole_generated(events, ASKED, "r1")
    answer = GenerateResponse(**json.loads(body))
    assert (status, answer.response, answer.thinking, answer.done, answer.done_reason) == (200, "hello", "hm", True, "stop")
    assert "message" not in json.loads(body)


def test_a_whole_answer_for_ollamas_callers() -> None:
    events = [
        neutral.Began("c1", "theirs", SECONDS),
        neutral.ThinkingDelta(0, "hm"),
        neutral.TextDelta(0, "a"),
        neutral.TextDelta(0, "b"),
        neutral.ToolCallBegan(0, 0, "x", "f"),
        neutral.ToolArguments(0, 0, '{"a": 1'),
        neutral.ToolArguments(0, 0, "}"),
        neutral.Finished(0, "tool_calls"),
        neutral.Counted(Usage(12, 3, 15)),
        neutral.Ended(),
    ]
    status, body = ollama.write_whole(events, ASKED, "r1")
    message = {
        "role": "assistant",
        "content": "ab",
        "thinking": "hm",
        "tool_calls": [{"id": "x", "function": {"index": 0, "name": "f", "arguments": {"a": 1}}}],
    }
    assert status == 200
    assert json.loads(body) == {
        "model": "mine",
        "created_at": "2026-01-02T03:04:05Z",
        "message": message,
        "done": True,
        "done_reason": "stop",
        **COUNTS,
    }
    (call,) = ChatResponse(**json.loads(body)).message.tool_calls or ()
    assert call.function.arguments == {"a": 1}


def test_what_was_used_is_left_out_where_nobody_told_it() -> None:
    last = written(neutral.TextDelta(0, "a"), neutral.Finished(0, "stop"))[-1]
    assert last["done"] is True
    assert not {"prompt_eval_count", "eval_count", "load_duration", "eval_duration", "prompt_eval_duration"} & last.keys()


def began(call: int, name: str) -> neutral.Event:
    return neutral.ToolCallBegan(0, call, f"id{call}", name)


def arguments(call: int, text: str) -> neutral.Event:
    return neutral.ToolArguments(0, call, text)


@pytest.mark.parametrize(
    "events",
    [
        [began(0, "f"), arguments(0, '{"a":'), arguments(0, "1}"), began(1, "g"), arguments(1, "{}")],
        [began(0, "f"), began(1, "g"), arguments(1, "{}"), arguments(0, '{"a":'), arguments(0, "1}")],
        [began(0, "f"), arguments(0, '{"a":'), began(1, "g"), arguments(0, "1}")],
    ],
    ids=["in turn", "mixed", "without arguments"],
)
def test_calls_are_told_whole_and_once(events: list[neutral.Event]) -> None:
    lines = written(*events, neutral.Finished(0, "tool_calls"))
    calls = [call for told in lines for call in told["message"].get("tool_calls", ())]
    functions = [(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in calls]
    assert functions == [("id0", "f", {"a": 1}), ("id1", "g", {})]
    assert [call["function"]["index"] for call in calls] == [0, 1]
    assert lines[-1]["done_reason"] == "stop"


def test_a_call_is_told_before_the_next_one_is_complete() -> None:
    writer = ollama.AnswerWriter(ASKED, "r1")
    assert writer.write([began(0, "f"), arguments(0, '{"a":1}')]) == b""
    assert b'"arguments":{"a":1}' in writer.write([began(1, "g")])


def test_a_call_that_was_cut_off_is_left_out_and_a_broken_one_is_an_error() -> None:
    cut = [neutral.TextDelta(0, "a"), began(0, "f"), arguments(0, '{"a')]
    lines = written(*cut, neutral.Finished(0, "length"))
    assert [told["message"]["content"] for told in lines] == ["a", ""]
    assert lines[-1]["done_reason"] == "length"
    body = json.loads(ollama.write_whole([*cut, neutral.Finished(0, "length"), neutral.Ended()], ASKED, "r")[1])
    assert "tool_calls" not in body["message"]
    with pytest.raises(UpstreamBroken, match="called f"):
        written(*cut, neutral.Finished(0, "tool_calls"))
    with pytest.raises(UpstreamBroken, match="called f"):
        ollama.write_whole([*cut, neutral.Finished(0, "stop"), neutral.Ended()], ASKED, "r")


def test_log_probabilities_stand_in_the_line_of_their_text() -> None:
    raw = msgspec.Raw(
        json.dumps({"content": [{**TOKENS[0], "extra": 1}, {**TOKENS[1], "bytes": None, "top_logprobs": []}]}).encode()
    )
    lines = written(
        neutral.TextDelta(0, "ac"), neutral.LogProbs(0, raw), neutral.LogProbs(0, msgspec.Raw(b"null")), neutral.Finished(0, "stop")
    )
    assert lines[0]["message"]["content"] == "ac"
    assert len(lines) == 2
    assert lines[0]["logprobs"] == [TOKENS[0], {**TOKENS[1], "top_logprobs": []}]
    told = ChatResponse(**lines[0])
    assert [token.logprob for token in told.logprobs] == [-0.5, -0.25]
    said: list[neutral.Event] = [neutral.TextDelta(0, "a"), neutral.LogProbs(0, raw)]
    body = json.loads(ollama.write_whole([*said, *said, neutral.Finished(0, "stop"), neutral.Ended()], ASKED, "r")[1])
    assert [token["token"] for token in body["logprobs"]] == ["a", "c", "a", "c"]


def test_log_probabilities_that_are_none_are_the_servers_fault() -> None:
    with pytest.raises(UpstreamBroken):
        written(neutral.LogProbs(0, msgspec.Raw(b'{"content": 7}')))


def test_a_refusal_is_text_and_a_filter_is_told() -> None:
    lines = written(neutral.RefusalDelta(0, "I cannot."), neutral.Finished(0, "content_filter"))
    assert lines[0]["message"]["content"] == "I cannot."
    assert lines[-1]["done_reason"] == "content_filter"


def test_only_the_first_choice_is_told() -> None:
    lines = written(
        neutral.TextDelta(0, "a"), neutral.TextDelta(1, "b"), neutral.Finished(1, "stop"), neutral.Finished(0, "length")
    )
    assert [told["message"]["content"] for told in lines] == ["a", ""]
    assert lines[-1]["done_reason"] == "length"


def test_an_error_behind_some_text_is_a_line_that_nothing_follows() -> None:
    lines = written(neutral.TextDelta(0, "a"), neutral.Failed(503, "overloaded"))
    assert lines[1:] == [{"error": "overloaded", "request_id": "r1"}]
    status, body = ollama.write_whole([neutral.Failed(503, "overloaded"), neutral.Ended()], ASKED, "r1")
    assert (status, json.loads(body)["error"]) == (503, "overloaded")


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (InvalidRequest("`x` is wrong", remedy="mend it", param="x"), 400, "`x` is wrong"),
        (QueueFull(), 429, "full"),
        (UpstreamRefused(404, b'{"error": {"message": "no such model"}}'), 404, "no such model"),
        (UpstreamRefused(401, b'{"error": "bad key"}'), 502, "bad key"),
        (UpstreamRefused(529, b'{"type":"error","error":{"message":"busy","type":"overloaded_error"}}'), 503, "busy"),
        (UpstreamRefused(500, b"<html>"), 500, "status 500"),
    ],
)
def test_errors_have_one_field_that_says_it_all(error: Any, status: int, words: str) -> None:
    got, body = ollama.render_error(error, "r1")
    told = json.loads(body)
    assert got == status
    assert words in told["error"]
    assert told["request_id"] == "r1"


# -- passed on


def test_a_stream_that_is_passed_on_keeps_its_bytes() -> None:
    raw = ndjson(line("a"), line("b", thinking="x"), line(**LAST))
    watch = Watch(False)
    assert watch.take(raw) == raw
    assert (watch.begun, watch.ended, watch.failure, watch.usage()) == (True, True, None, Usage(12, 3, 15))
    assert watch.finish() == b""


def test_what_a_reader_sees_first() -> None:
    nothing = [line(), b"\n", {"model": "m", "done": False, "response": ""}]
    something = [
        line("a"),
        line(thinking="a"),
        line(tool_calls=[called("f", {})]),
        {"response": "a"},
        {"thinking": "a"},
        line(**LAST),
        b"{odd\n",
    ]
    for told, begun in [*((told, False) for told in nothing), *((told, True) for told in something)]:
        watch = Watch(False)
        raw = told if isinstance(told, bytes) else ndjson(told)
        assert (watch.take(raw), watch.begun) == (raw, begun)


def test_what_follows_the_end_is_not_passed_on() -> None:
    raw = ndjson(line("a"), line(**LAST))
    watch = Watch(False)
    assert watch.take(raw + ndjson(line("b"))) == raw
    assert watch.usage() == Usage(12, 3, 15)


def test_an_error_is_told_apart_from_what_came_before_it() -> None:
    watch = Watch(False)
    assert watch.take(ndjson(line('the words "error": and \n{"done":true}'), {"error": "out of memory"}, line("b"))) == ndjson(
        line('the words "error": and \n{"done":true}')
    )
    assert watch.failure is not None
    assert (watch.failure.status, watch.failure.body, watch.failure.dialect) == (502, b'{"error": "out of memory"}', "ollama")
    assert not watch.ended


def test_a_stream_that_is_passed_on_may_be_cut_off() -> None:
    watch = Watch(False)
    watch.take(ndjson(line("a")))
    with pytest.raises(UpstreamBroken, match="cut off"):
        watch.finish()
    assert watch.usage() is None


def test_whole_answers_that_are_passed_on() -> None:
    def told(**fields: Any) -> tuple[Usage | None, Any]:
        usage, failure = read_passed(json.dumps(fields).encode())
        return usage, None if failure is None else failure.body

    assert told(**line("a", **LAST)) == (Usage(12, 3, 15), None)
    assert told(response="a", done=True, eval_count=2) == (Usage(0, 2, 2), None)
    assert told(embeddings=[[0.5]], prompt_eval_count=4) == (Usage(4, 0, 4), None)
    assert told(embedding=[0.5]) == (None, None)
    assert told(error="no") == (None, b'{"error": "no"}')


@pytest.mark.parametrize("call", [ToolCall("", "f", "{}")])
def test_a_call_without_an_id_is_told_without_one(call: ToolCall) -> None:
    events = neutral.events_of(neutral.Answer(choices=[neutral.Choice(parts=[call])]))
    body = json.loads(ollama.write_whole(events, ASKED, "r")[1])
    assert body["message"]["tool_calls"] == [{"function": {"index": 0, "name": "f", "arguments": {}}}]
