"""Reading and rewriting OpenAI's dialect without touching what need not be touched."""

import json
import re
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.errors import InvalidRequest, UpstreamBroken
from antiphon.core.types import Usage
from antiphon.execution.wire.openai import passthrough as wire
from antiphon.execution.wire.openai.mending import Mender
from antiphon.execution.wire.openai.watch import Watch
from antiphon.execution.wire.reading import UNREADABLE
from antiphon.transport import sse

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text().filter(lambda key: key != "model"), JSON, max_size=5), st.text(min_size=1), st.text(min_size=1))
def test_renaming_changes_the_model_and_nothing_else(rest: dict[str, Any], old: str, new: str) -> None:
    body: dict[str, Any] = {"metadata": {"model": old}, **rest, "model": old, "after": [1, "model"]}
    for text in (json.dumps(body), json.dumps(body, ensure_ascii=False, indent=1)):
        assert json.loads(wire.with_model(text.encode(), old, new)) == {**body, "model": new}


def test_renaming_splices_bytes() -> None:
    body = b'{ "temperature" : 1.0000, "model" :  "a", "x": 1e2 }'
    assert wire.with_model(body, "a", "bb") == b'{ "temperature" : 1.0000, "model" :  "bb", "x": 1e2 }'


@pytest.mark.parametrize(
    "body",
    [
        b'{"mod\\u0065l":"a","user":"x\\"model\\": \\"a\\"","messages":[]}',
        b'{"tools":[{"model":"a"}],"model":"a"}',
        b'{"model":"\\u0061"}',
        b'{"metadata":{"model":"a"},"mod\\u0065l":"a"}',
    ],
)
def test_renaming_is_not_fooled(body: bytes) -> None:
    expected = {**json.loads(body), "model": "b"}
    assert json.loads(wire.with_model(body, "a", "b")) == expected


@pytest.mark.parametrize(
    ("body", "options"),
    [
        (b'{"model":"a"}', {"include_usage": True}),
        (b'{"model":"a","stream_options":null}', {"include_usage": True}),
        (b'{"model":"a","stream_options":{"include_usage":false,"x":1}}', {"include_usage": True, "x": 1}),
        (b'{"model":"a","note":"\\"stream_options\\""}', {"include_usage": True}),
    ],
)
def test_asking_for_usage(body: bytes, options: dict[str, Any]) -> None:
    changed = json.loads(wire.with_usage(body))
    assert changed == {**json.loads(body), "stream_options": options}


@pytest.mark.parametrize(
    ("body", "param"),
    [
        (b"", None),
        (b"[]", None),
        (b"{", None),
        (b'{"messages":[]}', "model"),
        (b'{"model":""}', "model"),
        (b'{"model":7}', "model"),
        (b'{"model":"a","stream":"yes"}', "stream"),
        (b'{"model":"a","stream_options":{"include_usage":1}}', "stream_options.include_usage"),
        (b'{"model":"a","api_base":"http://169.254.169.254/"}', "api_base"),
        (b'{"model":"a","base_url":null}', "base_url"),
        (b'\xff{"model":"a"}', None),
        (b'{"model":"a","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}", None),
    ],
)
def test_a_bad_body_is_refused_by_field(body: bytes, param: str | None) -> None:
    with pytest.raises(InvalidRequest) as caught:
        wire.parse_head(body)
    assert caught.value.param == param


def test_usage_of_an_answer_with_details() -> None:
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "total_tokens": 15,
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 3},
    }
    expected = Usage(10, 5, 15, 4, 3)
    assert wire.read_answer(json.dumps({"usage": usage, "choices": [{"text": "}{"}]}).encode()) == (expected, None)
    assert wire.read_answer(b'{"choices":[]}') == (None, None)
    assert wire.read_answer(b'{"usage":null,"error":{"code":1}}') == (None, {"code": 1})


@pytest.mark.parametrize("count", ["-5", "9" * 400, "1.5", '"3"'])
def test_a_count_that_is_none_is_no_usage(count: str) -> None:
    body = b'{"choices":[],"usage":{"prompt_tokens":%s}}' % count.encode()
    assert wire.read_answer(body) == (None, None)
    watch = Watch(hides_usage=False)
    watch.take(b"data: " + body + b"\n\n")
    assert watch.usage() is None


@pytest.mark.parametrize("body", [b"", b"[1]", b'"x"', b"null", b"{", b"<html>", b'{"a":' * 100_000 + b"1" + b"}" * 100_000])
def test_what_is_no_whole_object_is_unreadable(body: bytes) -> None:
    with pytest.raises(UNREADABLE):
        wire.read_answer(body)


def test_done_counts_as_an_event_only() -> None:
    text = b'data: {"choices":[{"delta":{"content":"the word [DONE] is"}}]}\n\n'
    assert wire.up_to_done(text) is None
    assert wire.up_to_done(text + b"data:[DONE]\r\n\r\nmore") == text + b"data:[DONE]\r\n\r\n"


def test_the_usage_chunk_is_taken_out_and_the_rest_keeps_its_bytes() -> None:
    first = b'data: {"choices":[{"delta":{"content":"usage"}}],"usage":null}\n\n'
    usage = b'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}\r\n\r\n'
    last = b"data: [DONE]\n\n"
    watch = Watch(hides_usage=True)
    assert watch.take(first + usage + last) == first + last
    assert watch.usage() == Usage(1, 2, 3)
    asked = Watch(hides_usage=False)
    assert b"".join(map(asked.take, (first, usage, last))) == first + usage + last


@pytest.mark.parametrize(
    ("event", "content"),
    [
        ('{"choices":[{"delta":{"role":"assistant","content":""}}]}', False),
        ('{"choices":[{"delta":{"role":"assistant","content":null}}]}', False),
        ('{"choices":[]}', False),
        ('{"choices":[{"delta":{"content":"x"}}]}', True),
        ('{"choices":[{"delta":{"tool_calls":[{"index":0}]}}]}', True),
        ('{"choices":[{"delta":{"reasoning_content":"hm"}}]}', True),
        ('{"choices":[{"delta":{},"finish_reason":"stop"}]}', True),
        ('{"choices":[{"text":"x"}]}', True),
        ("not json", True),
    ],
)
def test_where_the_content_begins(event: str, content: bool) -> None:
    assert wire.begins(f"data: {event}\n\n".encode()) is content
    assert sys.exception() is None, "an event that cannot be read is told and forgotten"


def test_usage_in_the_last_delta_counts() -> None:
    last = b'{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":4}}'
    tail = b"data: " + last + b"\n\ndata: [DONE]\n\n"
    watch = Watch(hides_usage=False)
    told = [json.loads(event.data) for event in sse.parse(watch.take(tail)) if event.data != "[DONE]"]
    assert [chunk["usage"] for chunk in told] == [None, {"prompt_tokens": 3, "completion_tokens": 4}]
    assert told[1]["choices"] == []
    assert watch.usage() == Usage(3, 4, 7)


def test_the_word_null_is_no_end() -> None:
    event = b'data: {"choices":[{"delta":{"content":""},"finish_reason":"null"}]}\n\n'
    watch = Watch(hides_usage=False)
    assert watch.take(event) == event
    assert not watch.begun
    with pytest.raises(UpstreamBroken):
        watch.finish()


EVENTS = st.sampled_from(
    [
        b'data: {"choices":[{"index":0,"delta":{"content":"blue"}}]}',
        b'data: {"choices":[{"index":0,"delta":{"content":"say \\"usage\\": {}"}}]}',
        b'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}',
        b'data: {"choices":[{"index":0,"delta":{}}],"usage":{"prompt_tokens":1,"completion_tokens":2}}',
        b'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}',
        b": a comment",
        b"data: not json",
    ]
)


@given(st.lists(st.tuples(EVENTS, st.sampled_from([b"\n\n", b"\r\n\r\n", b"\r\r"])), min_size=1, max_size=12))
def test_a_block_of_events_is_mended_as_each_of_them(events: list[tuple[bytes, bytes]]) -> None:
    raw = [event + boundary for event, boundary in events]
    one, each = Mender(wants_usage=True), Mender(wants_usage=True)
    assert shapes(one.mended(b"".join(raw))) == shapes(b"".join(map(each.mended, raw)))
    assert one.usage == each.usage


def test_words_in_a_block_with_usage_keep_their_bytes() -> None:
    words = b'data: {"choices": [ {"index":0, "delta":{"content":"blue"}} ]}\n\n' * 100
    usage = b'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}\n\n'
    assert Mender(wants_usage=True).mended(words + usage) == words


def shapes(raw: bytes) -> bytes:
    """Bytes of a stream without the ids of calls that were made up."""
    return re.sub(rb'"id":"call_[^"]*"', b'"id":"call"', raw)
