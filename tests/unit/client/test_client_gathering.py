"""Chunks put together: what every field of field.md's streams becomes."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from antiphon_client import ChatCompletion, ChatCompletionChunk, Completion, InvalidResponseError, ResponseInfo
from antiphon_client.answers import reader
from antiphon_client.gathering import Gathering
from tests.unit.client.odd_json import JSON, places

INFO = ResponseInfo(200, {}, "req-1")


def chat(*chunks: dict[str, Any]) -> ChatCompletion:
    gathering = Gathering(ChatCompletion, "chat.completion")
    read = reader(ChatCompletionChunk)
    for chunk in chunks:
        gathering.add(
            read(json.dumps({"id": "c1", "created": 7, "model": "m", "object": "chat.completion.chunk", **chunk}).encode(), INFO)
        )
    return gathering.whole()


def said(index: int = 0, finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": index, "delta": delta, "finish_reason": finish}]}


def call(index: int | None, identity: str | None, name: str | None, arguments: str) -> dict[str, Any]:
    place = {} if index is None else {"index": index}
    known = {"id": identity, "type": "function"} if identity is not None else {}
    return place | known | {"function": {"name": name, "arguments": arguments} if name is not None else {"arguments": arguments}}


def test_text_finish_reason_and_usage() -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5, "prompt_tokens_details": {"cached_tokens": 1}}
    answer = chat(
        said(role="assistant", content=""), said(content="Grüße, "), said(content="世界"), said(finish="stop"),
        {"choices": [], "usage": usage},
    )  # fmt: skip
    assert (answer.text, answer.finish_reason, answer.message.role) == ("Grüße, 世界", "stop", "assistant")
    assert (answer.id, answer.created, answer.model, answer.object) == ("c1", 7, "m", "chat.completion")
    assert answer.usage is not None
    assert (answer.usage.total_tokens, answer.usage.cached_tokens) == (5, 1)
    assert answer.request_id == "req-1"


def test_a_tool_call_in_fragments() -> None:
    answer = chat(
        said(role="assistant", content=None), said(content="Let me look."), said(tool_calls=[call(0, "call_1", "weather", "")]),
        said(tool_calls=[call(0, None, None, '{"pla')]), said(tool_calls=[call(0, None, None, 'ce": "Köln"}')]),
        said(tool_calls=[call(1, "call_2", "time", "{}")]), said(finish="tool_calls"),
    )  # fmt: skip
    assert answer.text == "Let me look."
    assert [(each.id, each.name, each.parse()) for each in answer.tool_calls] == [
        ("call_1", "weather", {"place": "Köln"}), ("call_2", "time", {}),
    ]  # fmt: skip


def test_complete_calls_that_share_an_index_or_have_none() -> None:
    for index in (0, None):
        answer = chat(
            said(tool_calls=[call(index, "a", "f", '{"x":1}'), call(index, "b", "g", '{"y":2}')]), said(finish="tool_calls")
        )
        assert [(each.id, each.parse()) for each in answer.tool_calls] == [("a", {"x": 1}), ("b", {"y": 2})]


def test_a_name_that_is_said_in_every_chunk_is_one_name() -> None:
    answer = chat(
        said(tool_calls=[call(0, "a", "f", '{"x"')]), said(tool_calls=[call(0, "a", "f", ":1}")]), said(finish="tool_calls")
    )
    assert [(each.id, each.name, each.parse()) for each in answer.tool_calls] == [("a", "f", {"x": 1})]


def test_several_choices_that_come_mixed() -> None:
    answer = chat(
        said(1, content="b"), said(0, content="a"), said(1, content="B", finish="stop"), said(0, content="A", finish="length")
    )
    assert [(choice.index, choice.message.content, choice.finish_reason) for choice in answer.choices] == [
        (0, "aA", "length"), (1, "bB", "stop"),
    ]  # fmt: skip


def test_thoughts_refusals_and_log_probabilities() -> None:
    token = {"token": "a", "logprob": -0.5, "bytes": [97], "top_logprobs": []}
    first = {"choices": [{"index": 0, "delta": {"content": "a"}, "logprobs": {"content": [token], "refusal": None}}]}
    answer = chat(
        said(reasoning_content="Hm, "), said(reasoning_content="yes."),
        said(thinking_blocks=[{"type": "thinking", "thinking": "Hm, yes.", "signature": "s"}]), first, first,
        said(refusal="No."), said(finish="stop"),
    )  # fmt: skip
    assert answer.message.reasoning_content == "Hm, yes."
    assert answer.message.thinking_blocks == ({"type": "thinking", "thinking": "Hm, yes.", "signature": "s"},)
    assert answer.message.refusal == "No."
    logprobs = answer.choices[0].logprobs
    assert logprobs is not None
    assert [each.logprob for each in logprobs.content or ()] == [-0.5, -0.5]


def test_what_has_no_name_here_is_kept_and_goes_back_into_the_conversation() -> None:
    signed = {**call(None, "a", "f", "{}"), "extra_content": {"google": {"signature": "x"}}}
    answer = chat(
        said(tool_calls=[{"index": 0, **signed}], mood="calm"), said(mood=" and glad", finish="tool_calls"), {"citations": ["u"]}
    )
    assert answer.extra["citations"] == ["u"]
    assert answer.message.extra["mood"] == "calm and glad"
    assert answer.message.to_dict() == {"role": "assistant", "content": None, "mood": "calm and glad", "tool_calls": [signed]}


@given(data=st.data())
def test_chunks_with_anything_anywhere_make_an_answer_or_are_refused(data: st.DataObject) -> None:
    chunks = [
        said(role="assistant", content="a", mood="calm"), said(content="b", mood=["calm"], tool_calls=[call(0, "a", "f", '{"x"')]),
        {"choices": [{"index": 0, "delta": {"content": "c"}, "logprobs": {"content": [{"token": "a", "logprob": -1}]}}]},
        {**said(tool_calls=[call(0, None, None, ":1}")], finish="stop"), "usage": {"prompt_tokens": 1}},
    ]  # fmt: skip
    for chunk in data.draw(st.lists(st.sampled_from(chunks), max_size=3, unique_by=id)):
        *path, last = data.draw(st.sampled_from(places(chunk)))
        inner: Any = chunk
        for key in path:
            inner = inner[key]
        inner[last] = data.draw(JSON)
    try:
        answer = chat(*chunks)
    except InvalidResponseError:
        return
    assert isinstance(answer.text, str)
    assert json.dumps(answer.message.to_dict())


def test_nothing_said_is_an_answer_without_choices() -> None:
    assert chat().text == ""
    assert chat({"choices": [], "usage": {"prompt_tokens": 1}}).choices == ()


def test_a_continued_text() -> None:
    gathering = Gathering(Completion, "text_completion")
    read = reader(Completion)
    logprobs = {"tokens": ["a"], "token_logprobs": [-1.0], "text_offset": [0], "top_logprobs": None}
    for choice in ({"text": "a", "logprobs": logprobs}, {"text": "b", "logprobs": logprobs}, {"text": "", "finish_reason": "stop"}):
        gathering.add(read(json.dumps({"id": "c", "choices": [{"index": 0, **choice}]}).encode(), INFO))
    whole = gathering.whole()
    assert (whole.text, whole.finish_reason, whole.object) == ("ab", "stop", "text_completion")
    told = whole.choices[0].logprobs
    assert told is not None
    assert told.token_logprobs == (-1.0, -1.0)
