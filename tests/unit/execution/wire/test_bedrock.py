"""Bedrock's Converse: what its servers are asked, and what is made of their answers, with AWS's own library as the judge."""

import base64
import json
import struct
from binascii import crc32
from typing import Any

import pytest
from botocore.eventstream import EventStreamBuffer, ParserError
from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.errors import InvalidRequest, UnsupportedParameter, UpstreamBroken
from antiphon.core.types import Usage
from antiphon.execution.wire import chat_answer as neutral
from antiphon.execution.wire.anthropic import chat as anthropic
from antiphon.execution.wire.bedrock.chat import CONVERSE
from antiphon.execution.wire.bedrock.frames import FrameSplitter, messages
from antiphon.execution.wire.chat import ChatAbilities, RedactedThinking, Text, Thinking, ToolCall
from antiphon.execution.wire.openai import chat as openai_chat
from tests.unit.execution.wire.bedrock_oracle import check_request, frame, parsed_answer, parsed_stream, raw_frame

ABLE = ChatAbilities(reasoning="budget", documents=True, audio=True)
CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
HELLO = [{"role": "user", "content": "hi"}]
WEATHER = {"name": "weather", "description": "Of a place.", "input_schema": {"type": "object", "properties": {}}}
FUNCTION = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
PNG = base64.b64encode(b"png").decode()


def by_anthropic(able: ChatAbilities = ABLE, **fields: Any) -> dict[str, Any]:
    """What Bedrock gets for a request of Anthropic's dialect."""
    body = {"model": CLAUDE, "max_tokens": 5000, "messages": HELLO, **fields}
    told: dict[str, Any] = json.loads(CONVERSE.encode_request(anthropic.decode_request(json.dumps(body).encode()), able))
    check_request(told)
    check_request(told, "ConverseStream")
    return told


def by_openai(able: ChatAbilities = ABLE, **fields: Any) -> dict[str, Any]:
    body = {"model": CLAUDE, "messages": HELLO, **fields}
    told: dict[str, Any] = json.loads(CONVERSE.encode_request(openai_chat.decode_request(json.dumps(body).encode()), able))
    check_request(told)
    return told


def read(*frames: bytes) -> list[neutral.Event]:
    parsed_stream(b"".join(frames))
    reader = CONVERSE.reader()
    events = [event for raw in frames for event in reader.feed(raw)]
    return [*events, *reader.end()]


def delta(index: int, **told: Any) -> bytes:
    return frame("contentBlockDelta", {"contentBlockIndex": index, "delta": told})


def stop(reason: str) -> bytes:
    return frame("messageStop", {"stopReason": reason})


def parts(events: Any) -> list[Any]:
    return neutral.answer_of(events).choices[0].parts


def test_a_request_without_its_model_and_with_its_settings() -> None:
    told = by_openai(
        messages=[{"role": "system", "content": "Be brief."}, *HELLO],
        temperature=0.5,
        top_p=0.9,
        stop="END",
        max_tokens=9,
        user="u",
    )
    assert told == {
        "messages": [{"role": "user", "content": [{"text": "hi"}]}],
        "system": [{"text": "Be brief."}],
        "inferenceConfig": {"maxTokens": 9, "temperature": 0.5, "topP": 0.9, "stopSequences": ["END"]},
    }


def test_tools_their_calls_and_their_results() -> None:
    told = by_anthropic(
        messages=[
            *HELLO,
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t/1", "name": "weather", "input": {"place": "Köln"}}]},
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "t/1", "content": "no net", "is_error": True},
                    {"type": "text", "text": "well?"},
                ],
            },
        ],
        tools=[WEATHER],
        tool_choice={"type": "any"},
    )
    assert told["toolConfig"] == {
        "tools": [
            {
                "toolSpec": {
                    "name": "weather",
                    "description": "Of a place.",
                    "inputSchema": {"json": {"type": "object", "properties": {}}},
                }
            }
        ],
        "toolChoice": {"any": {}},
    }
    assert told["messages"][1:] == [
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t_2f1", "name": "weather", "input": {"place": "Köln"}}}]},
        {
            "role": "user",
            "content": [
                {"toolResult": {"toolUseId": "t_2f1", "content": [{"text": "no net"}], "status": "error"}},
                {"text": "well?"},
            ],
        },
    ]


def test_results_of_several_calls_stand_in_one_turn() -> None:
    calls = [{"id": f"call_{place}", "type": "function", "function": {"name": "weather", "arguments": "{}"}} for place in range(2)]
    results = [{"role": "tool", "tool_call_id": f"call_{place}", "content": "rain"} for place in range(2)]
    told = by_openai(messages=[*HELLO, {"role": "assistant", "content": "", "tool_calls": calls}, *results], tools=[FUNCTION])
    assert [message["role"] for message in told["messages"]] == ["user", "assistant", "user"]
    assert [block["toolResult"]["toolUseId"] for block in told["messages"][2]["content"]] == ["call_0", "call_1"]


def test_a_call_with_a_long_id_has_the_same_short_one_wherever_it_is_named() -> None:
    identity = "x" * 80
    call = {"id": identity, "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    history = [*HELLO, {"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": identity, "content": "rain"}]
    told = by_openai(messages=history, tools=[FUNCTION])
    called, result = told["messages"][1]["content"][0]["toolUse"], told["messages"][2]["content"][0]["toolResult"]
    assert called["toolUseId"] == result["toolUseId"]
    assert len(called["toolUseId"]) <= 64


def test_images_documents_and_sounds() -> None:
    told = by_anthropic(
        messages=[
            {
                "role": "user",
                "content": [
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
                    {
                        "type": "document",
                        "source": {"type": "base64", "media_type": "application/pdf", "data": PNG},
                        "title": "A_b.pdf  (draft)",
                        "citations": {"enabled": True},
                    },
                    {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "words"}},
                ],
            }
        ]
    )
    assert told["messages"][0]["content"] == [
        {"image": {"format": "png", "source": {"bytes": PNG}}},
        {
            "document": {
                "name": "A b pdf (draft)",
                "format": "pdf",
                "source": {"bytes": PNG},
                "citations": {"enabled": True},
            }
        },
        {"document": {"name": "document", "format": "txt", "source": {"text": "words"}}},
    ]
    sound = {"type": "input_audio", "input_audio": {"data": PNG, "format": "wav"}}
    link = {"type": "image_url", "image_url": {"url": "s3://bucket/a.jpg"}}
    told = by_openai(messages=[{"role": "user", "content": [sound, link]}])
    assert told["messages"][0]["content"] == [
        {"audio": {"format": "wav", "source": {"bytes": PNG}}},
        {"image": {"format": "jpeg", "source": {"s3Location": {"uri": "s3://bucket/a.jpg"}}}},
    ]


def test_marks_of_what_is_worth_keeping() -> None:
    marked = {"cache_control": {"type": "ephemeral"}}
    hour = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    fields: dict[str, Any] = {
        "system": [{"type": "text", "text": "Be brief.", **marked}],
        "tools": [{**WEATHER, **hour}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi", **marked}]}],
    }
    told = by_anthropic(**fields)
    point = {"cachePoint": {"type": "default"}}
    assert told["system"] == [{"text": "Be brief."}, point]
    assert told["toolConfig"]["tools"][1] == {"cachePoint": {"type": "default", "ttl": "1h"}}
    assert told["messages"][0]["content"] == [{"text": "hi"}, point]
    assert "cachePoint" not in json.dumps(by_anthropic(model="meta.llama3-3-70b-instruct-v1:0", **fields))


def test_thoughts_go_back_with_their_signatures() -> None:
    said = [
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        {"type": "redacted_thinking", "data": PNG},
        {"type": "text", "text": "hello"},
    ]
    told = by_anthropic(messages=[*HELLO, {"role": "assistant", "content": said}, *HELLO])
    assert told["messages"][1]["content"] == [
        {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "sig"}}},
        {"reasoningContent": {"redactedContent": PNG}},
        {"text": "hello"},
    ]


@pytest.mark.parametrize(
    ("model", "given", "told"),
    [
        (
            CLAUDE,
            {"thinking": {"type": "enabled", "budget_tokens": 2000}},
            {"thinking": {"type": "enabled", "budget_tokens": 2000}},
        ),
        (CLAUDE, {"thinking": {"type": "disabled"}}, {"thinking": {"type": "disabled"}}),
        (
            "global.anthropic.claude-opus-4-6-v1",
            {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}},
            {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}},
        ),
        ("anthropic.claude-3-haiku-20240307-v1:0", {"thinking": {"type": "enabled", "budget_tokens": 2000}}, None),
        ("openai.gpt-oss-120b-1:0", {"output_config": {"effort": "low"}}, {"reasoning_effort": "low"}),
        (
            "us.amazon.nova-2-lite-v1:0",
            {"output_config": {"effort": "max"}},
            {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "high"}},
        ),
        ("us.amazon.nova-2-lite-v1:0", {"thinking": {"type": "disabled"}}, {"reasoningConfig": {"type": "disabled"}}),
        ("meta.llama3-3-70b-instruct-v1:0", {"thinking": {"type": "enabled", "budget_tokens": 2000}}, None),
        (CLAUDE, {"top_k": 5}, {"top_k": 5}),
        ("amazon.nova-pro-v1:0", {"top_k": 5}, {"inferenceConfig": {"topK": 5}}),
        ("cohere.command-r-plus-v1:0", {"top_k": 5}, {"k": 5}),
    ],
)
def test_what_only_some_models_know(model: str, given: dict[str, Any], told: dict[str, Any] | None) -> None:
    assert by_anthropic(model=model, **given).get("additionalModelRequestFields") == told


def test_a_model_that_is_not_to_be_told_how_to_think_is_not_told() -> None:
    thinking = {"type": "enabled", "budget_tokens": 2000}
    assert "additionalModelRequestFields" not in by_anthropic(ChatAbilities(), thinking=thinking)


def test_fields_of_bedrocks_own_are_taken_over() -> None:
    guard = {"guardrailIdentifier": "g1", "guardrailVersion": "1"}
    told = by_openai(guardrailConfig=guard, additionalModelRequestFields={"top_k": 9, "x": [1]}, requestMetadata={"team": "a"})
    assert told["guardrailConfig"] == guard
    assert told["requestMetadata"] == {"team": "a"}
    assert told["additionalModelRequestFields"] == {"top_k": 9, "x": [1]}


def test_an_answer_that_keeps_to_a_schema() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    told = by_openai(response_format={"type": "json_schema", "json_schema": {"name": "a", "schema": schema, "strict": True}})
    definition = told["outputConfig"]["textFormat"]["structure"]["jsonSchema"]
    assert json.loads(definition["schema"]) == schema
    assert definition["name"] == "a"


def test_tools_that_may_not_be_called_are_not_told_unless_some_were() -> None:
    assert "toolConfig" not in by_openai(tools=[FUNCTION], tool_choice="none")
    call = {"id": "c", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    history = [*HELLO, {"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "c", "content": "rain"}]
    with pytest.raises(UnsupportedParameter, match="tool_choice"):
        by_openai(messages=history, tools=[FUNCTION], tool_choice="none")


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"n": 2}, "n"),
        ({"seed": 1}, "seed"),
        ({"presence_penalty": 0.1}, "presence_penalty"),
        ({"logprobs": True}, "logprobs"),
        ({"temperature": 1.5}, "temperature"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"logit_bias": {"5": 1}}, "logit_bias"),
        ({"tools": [FUNCTION], "parallel_tool_calls": False}, "parallel_tool_calls"),
        ({"tools": [{"type": "custom", "custom": {"name": "x"}}]}, "tools[0].type"),
        ({"additionalModelRequestFields": 7}, "additionalModelRequestFields"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x.y/a.png"}}]}]},
            "messages[0].content",
        ),
        (
            {
                "messages": [
                    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/bmp;base64,aGk="}}]}
                ]
            },
            "messages[0].content",
        ),
    ],
)
def test_what_it_cannot_do_is_refused_by_name(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        by_openai(**fields)
    assert refused.value.param == param


def test_a_stream_of_thinking_text_and_calls() -> None:
    events = read(
        frame("messageStart", {"role": "assistant"}),
        delta(0, reasoningContent={"text": "h"}),
        delta(0, reasoningContent={"text": "m"}),
        delta(0, reasoningContent={"signature": "sig"}),
        frame("contentBlockStop", {"contentBlockIndex": 0}),
        delta(1, reasoningContent={"redactedContent": PNG}),
        frame("contentBlockStop", {"contentBlockIndex": 1}),
        delta(2, text="Grü"),
        delta(2, text="ße"),
        frame("contentBlockStop", {"contentBlockIndex": 2}),
        frame("contentBlockStart", {"contentBlockIndex": 3, "start": {"toolUse": {"toolUseId": "t1", "name": "weather"}}}),
        delta(3, toolUse={"input": '{"place": '}),
        delta(3, toolUse={"input": '"Köln"}'}),
        frame("contentBlockStop", {"contentBlockIndex": 3}),
        frame("contentBlockStart", {"contentBlockIndex": 4, "start": {"toolUse": {"toolUseId": "t2", "name": "now"}}}),
        frame("contentBlockStop", {"contentBlockIndex": 4}),
        stop("tool_use"),
        frame(
            "metadata",
            {
                "usage": {
                    "inputTokens": 5,
                    "outputTokens": 7,
                    "totalTokens": 12,
                    "cacheReadInputTokens": 3,
                    "cacheWriteInputTokens": 2,
                },
                "metrics": {"latencyMs": 1},
            },
        ),
    )
    assert parts(events) == [
        Thinking("hm", "sig"),
        RedactedThinking(PNG),
        Text("Grüße"),
        ToolCall("t1", "weather", '{"place": "Köln"}'),
        ToolCall("t2", "now", "{}"),
    ]
    assert events[-3:] == [neutral.Finished(0, "tool_calls"), neutral.Counted(Usage(10, 7, 17, 3), 2), neutral.Ended()]


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ("end_turn", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("stop_sequence", "stop_sequence"),
        ("guardrail_intervened", "content_filter"),
        ("content_filtered", "content_filter"),
    ],
)
def test_why_an_answer_ended(told: str, reason: str) -> None:
    assert read(frame("messageStart", {"role": "assistant"}), delta(0, text="a"), stop(told))[-2] == neutral.Finished(0, reason)


def test_a_whole_answer() -> None:
    body = {
        "output": {
            "message": {
                "role": "assistant",
                "content": [
                    {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "sig"}}},
                    {"text": "hello"},
                    {"citationsContent": {"content": [{"text": " there"}], "citations": []}},
                    {"toolUse": {"toolUseId": "t1", "name": "weather", "input": {"place": "Köln"}}},
                ],
            }
        },
        "stopReason": "tool_use",
        "usage": {"inputTokens": 5, "outputTokens": 7, "totalTokens": 12},
        "metrics": {"latencyMs": 1},
    }
    raw = json.dumps(body).encode()
    assert parsed_answer(raw)["stopReason"] == "tool_use"
    events = CONVERSE.read_whole(raw)
    thought, text, call = parts(events)
    assert (thought, text) == (Thinking("hm", "sig"), Text("hello there"))
    assert (call.id, call.name, json.loads(call.arguments)) == ("t1", "weather", {"place": "Köln"})
    assert neutral.Counted(Usage(5, 7, 12)) in events


@pytest.mark.parametrize(
    ("name", "payload", "failed"),
    [
        ("throttlingException", {"message": "slow down"}, neutral.Failed(429, "slow down", "throttlingException")),
        (
            "modelStreamErrorException",
            {"message": "broken", "originalStatusCode": 529, "originalMessage": "overloaded"},
            neutral.Failed(529, "broken", "modelStreamErrorException"),
        ),
        ("validationException", b"not JSON", neutral.Failed(400, "not JSON", "validationException")),
        ("internalServerException", {"message": None}, None),
    ],
)
def test_an_exception_inside_a_stream(name: str, payload: Any, failed: neutral.Failed | None) -> None:
    reader = CONVERSE.reader()
    events = [*reader.feed(delta(0, text="a")), *reader.feed(frame(name, payload, "exception") + delta(0, text="b"))]
    assert [type(event) for event in events] == [neutral.TextDelta, neutral.Failed, neutral.Ended]
    assert failed is None or events[1] == failed
    assert reader.end() == []


def test_an_error_of_the_stream_itself() -> None:
    raw = raw_frame({":message-type": "error", ":error-code": "InternalError", ":error-message": "sorry"}, b"")
    assert CONVERSE.reader().feed(raw)[0] == neutral.Failed(500, "sorry", "InternalError")


@pytest.mark.parametrize(
    "frames",
    [
        [],
        [delta(0, text="half")],
        [stop("malformed_model_output")],
        [frame("contentBlockDelta", 7)],
        [frame("contentBlockDelta", {"delta": 7})],
        [frame("contentBlockDelta", {"delta": {"toolUse": {"input": {}}}})],
        [delta(0, text="a")[:-1]],
        [delta(0, text="a")[:-1] + b"x"],
        [b"\x00\x00\x00\x01abcd"],
        [b"\xff\xff\xff\xff"],
        [b"\x00"],
    ],
)
def test_what_is_cut_off_or_no_answer_is_the_servers_fault(frames: list[bytes]) -> None:
    reader = CONVERSE.reader()
    with pytest.raises(UpstreamBroken):
        [reader.feed(raw) for raw in frames] + [reader.end()]


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"output": {"message": {}}}', b'{"output": 7}'])
def test_a_whole_answer_that_is_none_is_the_servers_fault(body: bytes) -> None:
    with pytest.raises(UpstreamBroken):
        CONVERSE.read_whole(body)


def test_frames_are_found_however_they_are_cut() -> None:
    frames = [delta(0, text="a" * length) for length in (0, 1, 300, 70_000)]
    for size in (1, 3, 7, 1000, 1 << 20):
        splitter, raw = FrameSplitter(), b"".join(frames)
        pieces = [splitter.feed(raw[at : at + size]) for at in range(0, len(raw), size)]
        assert b"".join(pieces) == raw
        assert splitter.rest() == b""
    splitter = FrameSplitter()
    assert splitter.feed(frames[0] + b"\x00\x00") == frames[0]
    assert splitter.rest() == b"\x00\x00"


NAMES = st.sampled_from([":message-type", ":event-type", ":exception-type", ":error-code", ":error-message", "x", "\u00e9"])
VALUES = st.one_of(
    st.builds(
        lambda text: b"\x07" + struct.pack("!H", len(text.encode())) + text.encode(), st.sampled_from(["event", "error", "a", ""])
    ),
    st.builds(lambda kind, value: bytes([kind]) + value, st.integers(0, 11), st.binary(max_size=9)),
)
HEADERS = st.lists(
    st.builds(lambda name, value: bytes([len(name.encode())]) + name.encode() + value, NAMES, VALUES), max_size=4
).map(b"".join)


@given(HEADERS, st.binary(max_size=5), st.sampled_from([0, 0, 0, -1, 1, 40]))
def test_a_frame_says_what_the_library_of_aws_reads_in_it(headers: bytes, payload: bytes, longer: int) -> None:
    of_headers = max(0, len(headers) + longer)
    prelude = struct.pack("!II", 16 + len(headers) + len(payload), of_headers)
    message = prelude + struct.pack("!I", crc32(prelude)) + headers + payload
    raw = message + struct.pack("!I", crc32(message))
    buffer = EventStreamBuffer()
    buffer.add_data(raw)
    try:
        wanted = next(buffer)
    except (ParserError, struct.error, KeyError, UnicodeDecodeError):
        wanted = None
    if wanted is None or of_headers > len(headers) + len(payload):
        with pytest.raises(UpstreamBroken):
            list(messages(raw))
        return
    (read,) = messages(raw)
    kind = str(wanted.headers.get(":message-type", "event"))
    assert read.kind == kind
    assert read.name == str(wanted.headers.get(f":{kind}-type") or wanted.headers.get(":error-code") or "")
    assert read.payload == (wanted.payload or str(wanted.headers.get(":error-message", "")).encode())


def test_a_frame_of_an_impossible_length_is_not_waited_for() -> None:
    for length in (0, 15, 1 << 30):
        with pytest.raises(UpstreamBroken, match="length"):
            FrameSplitter().feed(length.to_bytes(4))
