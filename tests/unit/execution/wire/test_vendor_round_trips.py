"""Requests and answers of every kind, through the dialects that only servers speak; what is wrong is refused and nothing else."""

import json
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.errors import InvalidRequest, UpstreamBroken
from antiphon.execution.wire import chat_answer as neutral
from antiphon.execution.wire.anthropic import chat as anthropic
from antiphon.execution.wire.bedrock.chat import CONVERSE
from antiphon.execution.wire.chat import ChatAbilities, RedactedThinking, Text, Thinking, ToolCall
from antiphon.execution.wire.dashscope.chat import MULTIMODAL, TEXT
from antiphon.execution.wire.dialect import OutboundChat
from antiphon.execution.wire.openai import chat as openai_chat
from tests.unit.execution.wire.bedrock_oracle import MODEL, check_request, frame, parsed_stream
from tests.unit.execution.wire.cases import CASES, FEWER, cases
from tests.unit.execution.wire.test_dialect_round_trips import answers, cut, mutated, openai_requests, requests

SOME = cases(0.3)
ABLE = ChatAbilities(reasoning="adaptive", documents=True, top_k=True, reasoning_back=True)
SERVERS = pytest.mark.parametrize("outbound", [CONVERSE, TEXT, MULTIMODAL], ids=["bedrock", "dashscope", "dashscope-multimodal"])


@SOME
@given(requests())
def test_any_request_of_anthropic_is_one_that_aws_takes(asked: dict[str, Any]) -> None:
    kept = (
        json.dumps(asked).replace('"data": "xyz"', '"data": "eHl6"').replace("https://example.com/a.png?b=c", "s3://bucket/a.png")
    )
    try:
        body = json.loads(
            CONVERSE.encode_request(anthropic.decode_request(json.dumps({**json.loads(kept), "model": MODEL}).encode()), ABLE)
        )
    except InvalidRequest as error:
        param = str(error.param)
        if param not in ("tool_choice", "tool_choice.disable_parallel_tool_use") and not param.endswith((".role", ".content")):
            raise
    else:
        check_request(body)


@SOME
@given(openai_requests())
def test_any_request_of_openai_is_one_that_aws_takes_or_is_refused(asked: dict[str, Any]) -> None:
    with suppress(InvalidRequest):
        body = json.loads(CONVERSE.encode_request(openai_chat.decode_request(json.dumps(asked).encode()), ABLE))
        check_request(body)


@SOME
@given(openai_requests())
def test_a_request_of_openai_says_the_same_to_dashscope(asked: dict[str, Any]) -> None:
    told = json.loads(MULTIMODAL.encode_request(openai_chat.decode_request(json.dumps(asked).encode()), ABLE))
    assert [texts(message["content"]) for message in told["input"]["messages"]] == [
        texts(message["content"]) for message in asked["messages"]
    ]
    assert [message["role"] for message in told["input"]["messages"]] == [message["role"] for message in asked["messages"]]
    for name in ("temperature", "top_p", "stop", "tools", "tool_choice", "parallel_tool_calls", "response_format", "max_tokens"):
        assert told["parameters"].get(name) == asked.get(name)


def texts(content: Any) -> list[str]:
    told = [{"text": content}] if isinstance(content, str) else content or []
    return [part["text"] for part in told if "text" in part]


@SERVERS
@FEWER
@given(
    st.one_of(requests().map(lambda asked: (anthropic, asked)), openai_requests().map(lambda asked: (openai_chat, asked))),
    st.data(),
)
def test_a_wrong_request_is_refused_and_nothing_else(outbound: OutboundChat, asked: tuple[Any, Any], data: st.DataObject) -> None:
    callers, body = asked
    with suppress(InvalidRequest):
        outbound.encode_request(callers.decode_request(mutated(body, data)), ABLE)


def by_bedrock(events: Iterable[neutral.Event]) -> list[tuple[str, Any]]:
    """The frames, by their names, in which Bedrock would tell of the events."""
    told: list[tuple[str, Any]] = []
    index, block = -1, ""
    for event in events:
        kind = type(event).__name__
        match event:
            case neutral.ToolCallBegan():
                index, block = index + 1, kind
                start = {"toolUse": {"toolUseId": event.id or "t", "name": event.name}}
                told.append(("contentBlockStart", {"contentBlockIndex": index, "start": start}))
            case neutral.ToolArguments():
                told.append(("contentBlockDelta", {"contentBlockIndex": index, "delta": {"toolUse": {"input": event.text}}}))
            case neutral.TextDelta() | neutral.ThinkingDelta():
                if block != kind:
                    index, block = index + 1, kind
                piece = {"text": event.text} if isinstance(event, neutral.TextDelta) else {"reasoningContent": {"text": event.text}}
                told.append(("contentBlockDelta", {"contentBlockIndex": index, "delta": piece}))
            case neutral.ThinkingSignature():
                piece = {"reasoningContent": {"signature": event.signature}}
                told.append(("contentBlockDelta", {"contentBlockIndex": index, "delta": piece}))
                block = ""
            case neutral.Finished():
                reason = {"tool_calls": "tool_use", "length": "max_tokens"}.get(event.reason, "end_turn")
                told.append(("messageStop", {"stopReason": reason}))
            case neutral.Counted(usage=usage):
                written = event.cache_written
                counts = {
                    "inputTokens": usage.prompt_tokens - usage.cached_tokens - written,
                    "outputTokens": usage.completion_tokens,
                    "totalTokens": usage.total_tokens,
                    "cacheReadInputTokens": usage.cached_tokens,
                    "cacheWriteInputTokens": written,
                }
                told.append(("metadata", {"usage": counts, "metrics": {"latencyMs": 1}}))
    return [("messageStart", {"role": "assistant"}), *told]


def by_dashscope(events: Iterable[neutral.Event]) -> list[dict[str, Any]]:
    """The events in which DashScope would tell of these."""
    told: list[dict[str, Any]] = []
    for event in events:
        message: dict[str, Any] = {"role": "assistant", "content": ""}
        reason = "null"
        match event:
            case neutral.TextDelta():
                message["content"] = event.text
            case neutral.ThinkingDelta():
                message["reasoning_content"] = event.text
            case neutral.ToolCallBegan():
                message["tool_calls"] = [{"index": event.call, "id": event.id, "function": {"name": event.name, "arguments": ""}}]
            case neutral.ToolArguments():
                message["tool_calls"] = [{"index": event.call, "id": "", "function": {"arguments": event.text}}]
            case neutral.Finished():
                reason = {"refusal": "stop"}.get(event.reason, event.reason)
            case _:
                continue
        told.append({"output": {"choices": [{"message": message, "finish_reason": reason}]}, "request_id": "r"})
    return told


def said(events: Iterable[neutral.Event], *, thoughts: bool = True) -> tuple[list[Any], str]:
    """What an answer says, texts and thoughts joined."""
    choice = neutral.answer_of(events).choices[0]
    calls = [part for part in choice.parts if isinstance(part, ToolCall)]
    text = "".join(part.text for part in choice.parts if isinstance(part, Text))
    thought = "".join(part.text for part in choice.parts if isinstance(part, Thinking)) if thoughts else ""
    return [text, thought, *calls], choice.finish.reason if choice.finish is not None else ""


def pieces(answer: dict[str, Any], data: st.DataObject) -> list[neutral.Event]:
    events = [piece for event in anthropic.read_whole(json.dumps(answer).encode()) for piece in cut(event, data)]
    return [event for event in events if not isinstance(event, RedactedThinking)]


@CASES
@given(answers(), st.data())
def test_a_streamed_answer_of_bedrock_is_read_however_it_is_cut(answer: dict[str, Any], data: st.DataObject) -> None:
    events = pieces(answer, data)
    raw = b"".join(frame(name, payload) for name, payload in by_bedrock(events))
    parsed_stream(raw)
    reader, splitter = CONVERSE.reader(), CONVERSE.framing.splitter()
    at = data.draw(st.integers(0, len(raw)))
    read = [event for piece in (raw[:at], raw[at:]) for event in reader.feed(splitter.feed(piece))]
    read += reader.end()
    words, reason = said(events)
    assert said(read) == (words, "stop" if reason == "refusal" else reason)
    assert [event for event in read if isinstance(event, neutral.Counted)] == [
        event for event in events if isinstance(event, neutral.Counted)
    ]


@CASES
@given(answers(), st.data())
def test_a_streamed_answer_of_dashscope_is_read(answer: dict[str, Any], data: st.DataObject) -> None:
    events = pieces(answer, data)
    reader = TEXT.reader()
    read = [event for told in by_dashscope(events) for event in reader.feed(b"data:%b\n\n" % json.dumps(told).encode())]
    words, reason = said(events)
    assert said([*read, *reader.end()]) == (words, "stop" if reason == "refusal" else reason)


@FEWER
@given(answers(), st.data())
def test_a_wrong_answer_is_the_servers_fault_and_nothing_else(answer: dict[str, Any], data: st.DataObject) -> None:
    events = pieces(answer, data)
    told = by_bedrock(events)
    place = data.draw(st.integers(0, len(told) - 1))
    reader = CONVERSE.reader()
    with suppress(UpstreamBroken):
        for at, (name, payload) in enumerate(told):
            reader.feed(frame(name, mutated(payload, data) if at == place else payload))
        reader.end()
    chunks = by_dashscope(events)
    place = data.draw(st.integers(0, len(chunks) - 1))
    stream = TEXT.reader()
    with suppress(UpstreamBroken):
        for at, chunk in enumerate(chunks):
            stream.feed(b"data:%b\n\n" % (mutated(chunk, data) if at == place else json.dumps(chunk).encode()))
        stream.end()


@FEWER
@given(answers(), st.data())
def test_a_damaged_frame_is_the_servers_fault_and_nothing_else(answer: dict[str, Any], data: st.DataObject) -> None:
    raw = bytearray(b"".join(frame(name, payload) for name, payload in by_bedrock(pieces(answer, data))))
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    reader, splitter = CONVERSE.reader(), CONVERSE.framing.splitter()
    with pytest.raises(UpstreamBroken):
        [*reader.feed(splitter.feed(bytes(raw)) + splitter.rest()), *reader.end()]
