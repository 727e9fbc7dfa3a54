"""Answers of other dialects' servers written as responses of OpenAI's, each event judged by the types of OpenAI's own package."""

import json
from collections.abc import Iterable
from typing import Any

import httpx2
import msgspec
import openai
import pydantic
import pytest

from antiphon.core.errors import QueueFull, UpstreamBroken, UpstreamRefused
from antiphon.core.types import Usage
from antiphon.execution.wire import chat_answer as neutral
from antiphon.execution.wire.anthropic import chat as anthropic
from antiphon.execution.wire.chat import ChatAbilities, RedactedThinking, Thinking, ToolCall
from antiphon.execution.wire.openai import chat as openai_chat
from antiphon.execution.wire.responses import ids, thoughts
from antiphon.execution.wire.responses.answer_writer import AnswerWriter, write_whole
from antiphon.execution.wire.responses.errors import error_event, failed_event
from antiphon.execution.wire.responses.request_reader import decode_request
from antiphon.transport import sse
from tests.unit.execution.wire.responses_shapes import events_in, response_in

ASKED: dict[str, Any] = {"model": "mine", "input": "hi"}
HELLO: list[neutral.Event] = [
    neutral.Began("c1", "theirs", 5), neutral.TextDelta(0, "Grü"), neutral.TextDelta(0, "ße"), neutral.Finished(0, "stop"),
    neutral.Counted(Usage(12, 3, 15, 4, 1), 2), neutral.Ended(),
]  # fmt: skip


def streamed(events: Iterable[neutral.Event], *, check_items: bool = True, **asked: Any) -> list[dict[str, Any]]:
    writer = AnswerWriter(decode_request(json.dumps({**ASKED, **asked}).encode()))
    return events_in(b"".join(writer.write([event]) for event in events), check_items=check_items)


def whole(events: Iterable[neutral.Event], **asked: Any) -> dict[str, Any]:
    return response_in(write_whole(events, decode_request(json.dumps({**ASKED, **asked}).encode())))


def kinds(events: Iterable[dict[str, Any]]) -> list[str]:
    return [event["type"].removeprefix("response.") for event in events]


def ended(*events: neutral.Event, reason: str = "stop") -> list[neutral.Event]:
    return [neutral.Began(), *events, neutral.Finished(0, reason), neutral.Ended()]


def call(number: int, identity: str, name: str = "f") -> neutral.ToolCallBegan:
    return neutral.ToolCallBegan(0, number, identity, name)


def arguments(number: int, text: str) -> neutral.ToolArguments:
    return neutral.ToolArguments(0, number, text)


def alike(response: dict[str, Any]) -> dict[str, Any]:
    """A response without what differs between two of the same meaning."""
    told = {name: value for name, value in response.items() if name not in ("id", "created_at", "completed_at")}
    return {**told, "output": [{name: value for name, value in item.items() if name != "id"} for item in response["output"]]}


def test_a_streamed_answer() -> None:
    events = streamed(HELLO)
    assert kinds(events) == [
        "created", "in_progress", "output_item.added", "content_part.added", "output_text.delta", "output_text.delta",
        "output_text.done", "content_part.done", "output_item.done", "completed",
    ]  # fmt: skip
    response = events[-1]["response"]
    assert ids.is_ours(response["id"])
    assert (response["model"], response["status"], response["created_at"]) == ("mine", "completed", 5)
    assert response["usage"] == {
        "input_tokens": 12, "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2},
        "output_tokens": 3, "output_tokens_details": {"reasoning_tokens": 1}, "total_tokens": 15,
    }  # fmt: skip
    (message,) = response["output"]
    assert message["content"] == [{"type": "output_text", "text": "Grüße", "annotations": [], "logprobs": []}]
    assert ids.response_of(message["id"]) == response["id"]
    assert alike(whole(HELLO)) == alike(response)


def test_what_was_asked_is_given_back() -> None:
    tool = {"type": "function", "name": "f", "parameters": {"type": "object"}}
    asked: dict[str, Any] = {
        "instructions": "be brief", "max_output_tokens": 7, "metadata": {"a": "b"}, "temperature": 0.5, "top_p": 0.9,
        "tools": [tool], "tool_choice": "required", "parallel_tool_calls": False, "reasoning": {"effort": "low"},
        "user": "u", "text": {"verbosity": "low"}, "previous_response_id": ids.new(), "max_tool_calls": 2,
    }  # fmt: skip
    filled = {"text": {"format": {"type": "text"}, "verbosity": "low"}, "tools": [{**tool, "strict": None}]}
    for response in (streamed(HELLO, **asked)[0]["response"], whole(HELLO, **asked)):
        assert {name: response[name] for name in asked} == {**asked, **filled}
    assert whole(HELLO, text={"format": None})["text"] == {"format": {"type": "text"}}


def test_a_request_over_many_lines_makes_events_of_one() -> None:
    request = decode_request(json.dumps({**ASKED, "metadata": {"a": "b\nc"}, "tools": []}, indent=2).replace("\n", "\r\n").encode())
    events = events_in(AnswerWriter(request).write(HELLO))
    assert events[0]["response"]["metadata"] == {"a": "b\nc"}


def test_calls_of_tools_have_items_of_their_own() -> None:
    events = streamed(
        ended(
            neutral.TextDelta(0, "wait"), call(0, "a"), arguments(0, '{"x"'), arguments(0, ":1}"), call(1, "b", "g"),
            reason="tool_calls",
        )
    )  # fmt: skip
    assert kinds(events)[2:] == [
        "output_item.added", "content_part.added", "output_text.delta", "output_text.done", "content_part.done", "output_item.done",
        "output_item.added", "function_call_arguments.delta", "function_call_arguments.delta", "function_call_arguments.done",
        "output_item.done",
        "output_item.added", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done", "completed",
    ]  # fmt: skip
    _, one, two = events[-1]["response"]["output"]
    assert (one["call_id"], one["name"], one["arguments"], one["status"]) == ("a", "f", '{"x":1}', "completed")
    assert (two["call_id"], two["name"], two["arguments"]) == ("b", "g", "{}")


def test_calls_whose_pieces_are_mixed_go_out_as_they_come() -> None:
    events = streamed(
        ended(call(0, "a"), arguments(0, '{"x"'), call(1, "b"), arguments(1, '{"y"'), arguments(0, ":1}"), arguments(1, ":2}"))
    )
    deltas = [(event["output_index"], event["delta"]) for event in events if event["type"].endswith("arguments.delta")]
    assert deltas == [(0, '{"x"'), (1, '{"y"'), (0, ":1}"), (1, ":2}")]
    assert [item["arguments"] for item in events[-1]["response"]["output"]] == ['{"x":1}', '{"y":2}']


def test_arguments_that_go_on_behind_their_end_are_the_servers_fault() -> None:
    blank = ended(call(0, "a"), arguments(0, "{}"), call(1, "b"), arguments(0, " \n"))
    assert [item["arguments"] for item in streamed(blank)[-1]["response"]["output"]] == ["{}", "{}"]
    with pytest.raises(UpstreamBroken, match="arguments of f"):
        streamed(ended(call(0, "a"), arguments(0, "{}"), call(1, "b"), arguments(0, "{}")))


def test_a_thought_as_it_came_and_as_a_summary() -> None:
    thinking = [neutral.ThinkingDelta(0, "h"), neutral.ThinkingDelta(0, "m"), neutral.TextDelta(0, "yes")]
    events = streamed(ended(*thinking))
    assert kinds(events)[2:9] == [
        "output_item.added", "content_part.added", "reasoning_text.delta", "reasoning_text.delta", "reasoning_text.done",
        "content_part.done", "output_item.done",
    ]  # fmt: skip
    thought = events[-1]["response"]["output"][0]
    assert (thought["content"], thought["summary"]) == ([{"type": "reasoning_text", "text": "hm"}], [])
    assert "encrypted_content" not in thought
    asked = {"reasoning": {"summary": "auto"}}
    events = streamed(ended(*thinking), **asked)
    assert kinds(events)[2:9] == [
        "output_item.added", "reasoning_summary_part.added", "reasoning_summary_text.delta", "reasoning_summary_text.delta",
        "reasoning_summary_text.done", "reasoning_summary_part.done", "output_item.done",
    ]  # fmt: skip
    thought = events[-1]["response"]["output"][0]
    assert thought["summary"] == [{"type": "summary_text", "text": "hm"}]
    assert "content" not in thought
    assert alike(whole(ended(*thinking), **asked)) == alike(events[-1]["response"])


def test_signed_thoughts_can_be_given_back() -> None:
    events = ended(
        neutral.ThinkingDelta(0, "a"), neutral.ThinkingSignature(0, "s1"), neutral.RedactedThought(0, "xyz"),
        neutral.ThinkingDelta(0, "b"), neutral.ThinkingSignature(0, "s2"), neutral.ThinkingSignature(0, "s3"),
        neutral.TextDelta(0, "yes"),
    )  # fmt: skip
    for response in (streamed(events)[-1]["response"], whole(events)):
        packed = [thoughts.unpack(item["encrypted_content"]) for item in response["output"][:-1]]
        assert packed == [Thinking("a", "s1"), RedactedThinking("xyz"), Thinking("b", "s2"), Thinking("", "s3")]


def test_the_signature_of_a_call_travels_with_the_thought_before_it() -> None:
    signed = neutral.ToolCallBegan(0, 0, "a", "f", "antiphon:gemini:s1")
    for thinking in ([], [neutral.ThinkingDelta(0, "hm")], [neutral.ThinkingDelta(0, "hm"), neutral.ThinkingSignature(0, "s0")]):
        events = ended(neutral.TextDelta(0, "wait"), *thinking, signed, arguments(0, "{}"), reason="tool_calls")
        for response in (streamed(events)[-1]["response"], whole(events)):
            given = [*response["output"], {"type": "function_call_output", "call_id": "a", "output": "7"}]
            back = decode_request(json.dumps({**ASKED, "input": given}).encode()).messages
            parts = [part for message in back for part in message.parts]
            assert [part.signature for part in parts if isinstance(part, ToolCall)] == ["antiphon:gemini:s1"]
            thoughts_back = [part for part in parts if isinstance(part, Thinking)]
            assert "".join(part.text for part in thoughts_back) == ("hm" if thinking else "")
            assert [part.signature for part in thoughts_back if part.signature] == (["s0"] if len(thinking) == 2 else [])


def test_stretches_of_others_are_annotated_where_they_stand() -> None:
    cited = [neutral.Cited(0, "https://x", "X", 1, 3), neutral.Cited(0, "https://y", "Y", 5, 8)]
    spoken = [neutral.TextDelta(0, "Grüße"), neutral.ThinkingDelta(0, "hm"), neutral.TextDelta(0, " von X")]
    events = ended(*spoken, *cited)
    told = streamed(events, check_items=False)
    added = [event for event in told if event["type"] == "response.output_text.annotation.added"]
    link = {"type": "url_citation", "url": "https://y", "title": "Y", "start_index": 0, "end_index": 3}
    assert [(event["output_index"], event["annotation_index"], event["annotation"]) for event in added] == [(2, 0, link)]
    for response in (told[-1]["response"], whole(events)):
        first, _, last = response["output"]
        (annotation,) = first["content"][0]["annotations"]
        assert (annotation["url"], annotation["start_index"], annotation["end_index"]) == ("https://x", 1, 3)
        assert last["content"][0]["annotations"] == [link]
    assert kinds(streamed(ended(cited[0])))[-1] == "completed"


def test_a_refusal_has_a_part_of_its_own() -> None:
    events = ended(neutral.TextDelta(0, "Well. "), neutral.RefusalDelta(0, "I "), neutral.RefusalDelta(0, "won't."))
    told = streamed(events)
    assert kinds(told)[5:11] == [
        "output_text.done", "content_part.done", "content_part.added", "refusal.delta", "refusal.delta", "refusal.done",
    ]  # fmt: skip
    (message,) = told[-1]["response"]["output"]
    assert message["content"][1] == {"type": "refusal", "refusal": "I won't."}
    assert alike(whole(events)) == alike(told[-1]["response"])


@pytest.mark.parametrize(
    ("reason", "details"),
    [
        ("length", {"reason": "max_output_tokens"}),
        ("content_filter", {"reason": "content_filter"}),
        ("refusal", {"reason": "content_filter"}),
        ("stop_sequence", None),
        ("tool_calls", None),
    ],
)
def test_an_answer_that_is_not_complete_says_so(reason: str, details: Any) -> None:
    events = ended(neutral.TextDelta(0, "half"), reason=reason)
    last = streamed(events)[-1]
    status = "incomplete" if details else "completed"
    assert last["type"] == f"response.{status}"
    for response in (last["response"], whole(events)):
        assert (response["status"], response["incomplete_details"]) == (status, details)
        assert response["output"][0]["status"] == status
        assert (response["completed_at"] is None) == bool(details)


def test_arguments_that_were_cut_off_are_told_as_they_are() -> None:
    events = ended(call(0, "a"), arguments(0, '{"x"'), reason="length")
    for response in (streamed(events)[-1]["response"], whole(events)):
        (item,) = response["output"]
        assert (item["arguments"], item["status"]) == ('{"x"', "incomplete")


def test_an_answer_without_a_word() -> None:
    assert kinds(streamed(ended())) == ["created", "in_progress", "completed"]
    assert whole(ended())["output"] == []


def test_other_choices_are_left_out() -> None:
    events = [neutral.Began(), neutral.TextDelta(1, "b"), neutral.TextDelta(0, "a"), neutral.TextDelta(1, "b"), neutral.Ended()]
    for response in (streamed(events)[-1]["response"], whole(events)):
        assert response["output"][0]["content"][0]["text"] == "a"


def logprobs(*tokens: str) -> neutral.LogProbs:
    content = [
        {"token": token, "logprob": -0.5, "bytes": None, "top_logprobs": [{"token": "x", "logprob": -1.0, "bytes": [120]}]}
        for token in tokens
    ]
    return neutral.LogProbs(0, msgspec.Raw(json.dumps({"content": content, "refusal": None}).encode()))


def test_log_probabilities_go_with_their_words() -> None:
    request = decode_request(json.dumps({**ASKED, "include": ["message.output_text.logprobs"], "top_logprobs": 1}).encode())
    pieces = [neutral.TextDelta(0, "ü"), logprobs("ü"), neutral.TextDelta(0, "b"), logprobs("b"), logprobs(" late")]
    events = events_in(AnswerWriter(request).write(ended(*pieces)))
    tokens = [[token["token"] for token in event["logprobs"]] for event in events if event["type"].endswith("text.delta")]
    assert tokens == [["ü"], ["b"]]
    response = events[-1]["response"]
    told = response["output"][0]["content"][0]["logprobs"]
    assert [token["token"] for token in told] == ["ü", "b", " late"]
    alternative = {"token": "x", "logprob": -1.0, "bytes": [120]}
    assert told[0] == {"token": "ü", "logprob": -0.5, "bytes": [195, 188], "top_logprobs": [alternative]}
    assert response["top_logprobs"] == 1


def test_log_probabilities_of_thoughts_and_calls_have_no_place() -> None:
    pieces = [neutral.ThinkingDelta(0, "hm"), logprobs("hm"), neutral.TextDelta(0, "a"), call(0, "a"), logprobs("{")]
    assert streamed(ended(*pieces))[-1]["response"]["output"][1]["content"][0]["logprobs"] == []


def test_log_probabilities_in_no_known_shape_are_the_servers_fault() -> None:
    odd = neutral.LogProbs(0, msgspec.Raw(b'{"content": 7}'))
    with pytest.raises(UpstreamBroken, match="log-probabilities"):
        streamed(ended(neutral.TextDelta(0, "a"), odd))


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (QueueFull(), "rate_limit_exceeded"),
        (UpstreamBroken(), "server_error"),
        (UpstreamRefused(401, b"{}"), "server_error"),
        (UpstreamRefused(429, b'{"error": {"message": "slow down"}}'), "rate_limit_exceeded"),
        (UpstreamRefused(400, b'{"error": {"message": "slow down"}}'), "invalid_prompt"),
    ],
)
def test_a_stream_that_breaks_off_has_failed_and_tells_why(error: Any, code: str) -> None:
    writer = AnswerWriter(decode_request(json.dumps(ASKED).encode()))
    first, last = writer.write(HELLO[:1]), writer.write(HELLO[1:3])
    failed = failed_event(first, last, error)
    end = error_event(b'{"error": {"message": "why", "code": "busy", "param": null}}', failed)
    events = events_in(first + last + failed + end)
    assert [event["type"] for event in events[-2:]] == ["response.failed", "error"]
    response = events[-2]["response"]
    assert (response["status"], response["error"]["code"]) == ("failed", code)
    if isinstance(error, UpstreamRefused) and error.body != b"{}":
        assert response["error"]["message"] == "slow down"
    assert (events[-1]["message"], events[-1]["code"]) == ("why", "busy")


def test_an_error_behind_what_was_not_written_here() -> None:
    assert failed_event(b"", b"", UpstreamBroken()) == b""
    assert failed_event(b": alive\n\n", b": alive\n\n", UpstreamBroken()) == b""
    for body in (b"[]", b"\xff", b'{"error": 7}'):
        (event,) = sse.parse(error_event(body, b": alive\n\n"))
        assert (event.event, json.loads(event.data)["sequence_number"]) == ("error", 0)


def seen(raw: bytes, **asked: Any) -> Any:
    """What OpenAI's client makes of a stream."""
    transport = httpx2.MockTransport(
        lambda request: httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=raw)
    )
    with (
        httpx2.Client(transport=transport) as http,
        openai.OpenAI(api_key="k", http_client=http, max_retries=0) as client,
        client.responses.stream(model="m", input="hi", **asked) as stream,
    ):
        return stream.get_final_response()


class Answer(pydantic.BaseModel):
    """What a caller wants."""

    n: int


def test_a_chat_stream_as_the_official_client_sees_it() -> None:
    reader = openai_chat.AnswerReader()
    chunks = [
        {"choices": [{"index": 0, "delta": {"role": "assistant", "content": '{"n":'}}]},
        {"choices": [{"index": 0, "delta": {"content": "3}"}}]},
        {"choices": [{"index": 0, "delta": {"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}]}}]},
        {"choices": [{"index": 0, "delta": {"tool_calls": [{"id": "b", "function": {"name": "g", "arguments": "{}"}}]}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
    ]
    raw = b"".join(b"data: %s\n\n" % json.dumps(chunk).encode() for chunk in chunks) + b"data: [DONE]\n\n"
    writer = AnswerWriter(decode_request(json.dumps(ASKED).encode()))
    response = seen(writer.write(reader.feed(raw)), text_format=Answer)
    assert response.output_parsed == Answer(n=3)
    assert [(item.call_id, item.name) for item in response.output[1:]] == [("a", "f"), ("b", "g")]


def test_an_anthropic_answer_with_a_signed_thought_and_back() -> None:
    content = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"x": 1}},
    ]
    answer = {"id": "msg_1", "content": content, "stop_reason": "tool_use", "usage": {"input_tokens": 3, "output_tokens": 2}}
    response = whole(anthropic.read_whole(json.dumps(answer).encode()))
    given = {"type": "function_call_output", "call_id": "toolu_1", "output": "7"}
    asked = {**ASKED, "input": [{"role": "user", "content": "?"}, *response["output"], given], "max_output_tokens": 9}
    back = json.loads(anthropic.encode_request(decode_request(json.dumps(asked).encode()), ChatAbilities()))
    assert back["messages"][1] == {"role": "assistant", "content": content}
    assert back["messages"][2]["content"][0]["tool_use_id"] == "toolu_1"
