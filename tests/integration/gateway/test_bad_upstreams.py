"""Servers that answer what they must not: the caller gets a clear error or another model, never half an answer as a whole one."""

import gzip
import socket
from collections.abc import Callable
from typing import Any

import openai
import pytest

from antiphon.testing import Body, Cut, Done, Event, Hang, Header, MockUpstream, Raw, Status, Wire
from tests.integration.gateway.data_plane import Running

Start = Callable[..., Running]
HELLO: Any = [{"role": "user", "content": "hello"}]
JSON = Header("content-type", "application/json")
STREAM = Header("content-type", "text/event-stream")
HALF = b'{"id":"x","choices":[{"index":0,"message":{"role":"assistant","content":"hello'
GOOD = (
    b'{"id":"x","object":"chat.completion","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}'
)


def ask(client: openai.OpenAI, **more: Any) -> Any:
    return client.chat.completions.create(model="mock-model", messages=HELLO, **more)


@pytest.mark.parametrize(
    "steps",
    [
        (JSON, Body(HALF), Cut()),
        (JSON, Body(b"")),
        (JSON, Body(b"[1]")),
        (JSON, Body(b"null")),
        (JSON, Body(b"<html>login</html>")),
        (JSON, Body({"error": {"message": "no", "code": 503}})),
        (Status(204),),
        (Status(206), JSON, Body(GOOD)),
        (Status(302), Header("location", "/x"), Body(b"")),
        (Status(700), Body(b"")),
        (JSON, Header("content-encoding", "gzip"), Body(gzip.compress(GOOD))),
        (STREAM, Body(b"data: {}\n\n")),
    ],
)
def test_no_whole_answer_falls_back(start: Start, upstream: MockUpstream, second: MockUpstream, steps: tuple[Any, ...]) -> None:
    upstream.script(*steps, wire=Wire(framing="close") if Cut() in steps else Wire())
    second.chat("whole")
    assert ask(start(upstream, second).client()).choices[0].message.content == "whole"


@pytest.mark.parametrize("status", [302, 204, 999])
def test_an_odd_status_alone_is_a_bad_gateway(start: Start, upstream: MockUpstream, status: int) -> None:
    upstream.script(Status(status), Body(b""))
    with pytest.raises(openai.InternalServerError, match=f"status {status}"):
        ask(start(upstream).client())


@pytest.mark.parametrize(
    "value", ["inf", "nan", "1e400", "9" * 400, "-5", "soon", "Mon, 01 Jan 2020 00:00:00 +" + "9" * 30, "1e300"]
)
def test_an_odd_retry_after_does_no_harm(start: Start, upstream: MockUpstream, value: str) -> None:
    upstream.script(Status(429), JSON, Header("retry-after", value), Body({"error": {"message": "slow"}}))
    with pytest.raises(openai.RateLimitError) as caught:
        ask(start(upstream).client())
    assert int(caught.value.response.headers.get("retry-after", "0")) <= 86400


@pytest.mark.parametrize("kind", ["Text/Event-Stream", "TEXT/EVENT-STREAM;charset=UTF-8", "text/event-stream ; charset=utf-8"])
def test_a_stream_is_known_however_its_type_is_written(start: Start, upstream: MockUpstream, kind: str) -> None:
    said = {"choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": "stop"}]}
    upstream.script(Header("content-type", kind), Event(said), Done())
    assert "".join(part.choices[0].delta.content for part in ask(start(upstream).client(), stream=True)) == "hi"


def test_done_ends_the_stream_whatever_follows(start: Start, upstream: MockUpstream) -> None:
    said = {"choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": "stop"}]}
    upstream.script(Event(said), Done(), Event({"choices": [{"index": 0, "delta": {"content": "late"}}]}), Hang())
    process = start(upstream)
    body = b'{"model":"mock-model","stream":true,"messages":[]}'
    with socket.create_connection(("127.0.0.1", process.port), timeout=10) as sock:
        sock.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
        got = b""
        while not got.endswith(b"0\r\n\r\n"):
            piece = sock.recv(65536)
            assert piece, got
            got += piece
    assert got.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")
    assert b"late" not in got


def test_the_words_of_protocol_inside_text_are_text(start: Start, upstream: MockUpstream) -> None:
    text = 'say [DONE], "error": {"code": 1} and "usage": {"prompt_tokens": 9}'
    upstream.chat(text)
    assert "".join(part.choices[0].delta.content or "" for part in ask(start(upstream).client(), stream=True)) == text


def test_text_that_names_done_is_no_end(start: Start, upstream: MockUpstream) -> None:
    said = {"choices": [{"index": 0, "delta": {"content": "the word [DONE] is"}}]}
    upstream.script(STREAM, Event(said), wire=Wire(framing="chunked"))
    with pytest.raises(openai.APIError, match="cut off"):
        list(ask(start(upstream).client(), stream=True))


def test_a_second_answer_in_one_read_is_not_merged_into_the_first(start: Start, upstream: MockUpstream) -> None:
    first = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (len(GOOD), GOOD)
    upstream.script(Raw(first + b"HTTP/1.1 500 X\r\ncontent-length: 6\r\n\r\nSECRET"))
    answer = start(upstream).client().chat.completions.with_raw_response.create(model="mock-model", messages=HELLO)
    assert answer.http_response.content == GOOD


def test_a_head_without_end_is_refused(start: Start, upstream: MockUpstream) -> None:
    upstream.script(Raw(b"HTTP/1.1 200 OK\r\n" + b"x: " + b"y" * 2_000_000 + b"\r\n\r\n"))
    with pytest.raises(openai.InternalServerError, match="head of more than"):
        ask(start(upstream).client())


def test_a_nested_event_and_a_huge_count_do_no_harm(start: Start, upstream: MockUpstream) -> None:
    process = start(upstream)
    nested = b'{"choices":[],"x":' + b"[" * 5000 + b"]" * 5000 + b"}"
    said = {"choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": "stop"}]}
    usage = b'{"choices":[],"usage":{"prompt_tokens":' + b"9" * 400 + b"}}"
    upstream.script(Event(nested), Event(said), Event(usage), Done())
    with process.client().chat.completions.with_streaming_response.create(model="mock-model", messages=HELLO, stream=True) as raw:
        assert b"[DONE]" in raw.read()
    process.stop()
    assert process.calls()[0]["prompt_tokens"] == 0


@pytest.mark.parametrize("field", [b'"stream":1', b'"x":' + b"[" * 50_000 + b"]" * 50_000])
def test_bad_bodies_are_the_callers_fault(start: Start, upstream: MockUpstream, field: bytes) -> None:
    process = start(upstream, capabilities={"tools": False})
    body = b'{"model":"mock-model","messages":[],' + field + b"}"
    client = process.client()
    with pytest.raises(openai.BadRequestError) as caught:
        client.post("/chat/completions", content=body, cast_to=object)
    assert caught.value.message
