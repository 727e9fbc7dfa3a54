"""What an upstream sends is what the caller gets, whatever the network does to it; faults are told and never hidden."""

import contextlib
import socket
import time
from collections.abc import Callable
from typing import Any

import openai
import pytest

from antiphon.testing import Body, Comment, Cut, Delay, Done, Event, Gate, Hang, Header, MockUpstream, Status, Wire
from tests.integration.gateway.data_plane import Running

Start = Callable[..., Running]
HELLO: Any = [{"role": "user", "content": "hello"}]

pytestmark = pytest.mark.parametrize("workers", [1, 4])
TEXT = ["Grüße", ", 世界", " 🎼🧑‍🚀", " — ", "ﷺ\u200d", "end"]


def chunk(content: str, **choice: Any) -> Event:
    said = {"index": 0, "delta": {"content": content}, **choice}
    return Event({"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "mock-model", "choices": [said]})


def read(client: openai.OpenAI, **more: Any) -> list[Any]:
    return list(client.chat.completions.create(model="mock-model", messages=HELLO, stream=True, **more))


def text_of(chunks: list[Any]) -> str:
    return "".join(part.choices[0].delta.content or "" for part in chunks if part.choices)


def raw(process: Running, body: bytes, path: str = "/v1/chat/completions") -> socket.socket:
    """A call over a bare socket, so that the very bytes can be seen."""
    sock = socket.create_connection(("127.0.0.1", process.port), timeout=20)
    sock.sendall(
        b"POST %s HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%s" % (path.encode(), len(body), body)
    )
    return sock


def all_of(sock: socket.socket) -> bytes:
    data = b""
    with contextlib.suppress(ConnectionResetError):
        while piece := sock.recv(65536):
            data += piece
    sock.close()
    return data


def dechunked(answer: bytes) -> bytes:
    body = answer.split(b"\r\n\r\n", 1)[1]
    whole = b""
    while body:
        size, _, body = body.partition(b"\r\n")
        whole, body = whole + body[: int(size, 16)], body[int(size, 16) + 2 :]
    return whole


# -- chunks without a finish reason; log-probabilities and the finish reason both survive


def test_chunks_without_finish_reason_read_as_none_and_the_last_one_has_it(start: Start, upstream: MockUpstream) -> None:
    logprobs = {"content": [{"token": "b", "logprob": -0.25, "bytes": [98], "top_logprobs": []}]}
    upstream.script(
        chunk("a"), chunk("b", logprobs=logprobs), chunk("c", finish_reason=None), chunk("", finish_reason="length"), Done()
    )
    parts = read(start(upstream).client())
    assert [part.choices[0].finish_reason for part in parts] == [None, None, None, "length"]
    assert parts[1].choices[0].logprobs.content[0].logprob == -0.25
    assert text_of(parts) == "abc"


def test_logprobs_and_finish_reason_on_one_chunk_both_survive(start: Start, upstream: MockUpstream) -> None:
    logprobs = {"content": [{"token": "x", "logprob": -1.5, "bytes": None, "top_logprobs": []}]}
    upstream.script(chunk("x", logprobs=logprobs, finish_reason="stop"), Done())
    (only,) = read(start(upstream).client())
    assert (only.choices[0].finish_reason, only.choices[0].logprobs.content[0].logprob) == ("stop", -1.5)


# -- cuts anywhere


@pytest.mark.parametrize(
    "wire",
    [
        Wire(write_size=1),
        Wire(write_size=2, newline="\r\n"),
        Wire(write_size=3, gap=0.0005),
        Wire(write_size=7, newline="\r\n", gap=0.0005),
        Wire(merge=0),
        Wire(merge=0, newline="\r\n"),
        Wire(merge=2, framing="close"),
        Wire(framing="length"),
    ],
)
def test_the_text_is_the_same_however_the_bytes_are_cut(start: Start, upstream: MockUpstream, wire: Wire) -> None:
    steps = [step for part in TEXT for step in (chunk(part), Comment("keep-alive"))]
    upstream.script(Header("content-type", "text/event-stream"), *steps, chunk("", finish_reason="stop"), Done(), wire=wire)
    assert text_of(read(start(upstream).client())) == "".join(TEXT)


def test_the_same_dialect_goes_through_byte_for_byte(start: Start, upstream: MockUpstream) -> None:
    sent = (
        b': odd but legal\n\ndata:{"choices" : [ {"index":0,"delta":{"role":"assistant"}} ]}\n\n'
        b'event: x\nid: 9\ndata: {"choices":[{"index":0,"delta":{"content":"\\u4e16"},"finish_reason":"stop"}],"vendor":1.50}\n\n'
        b'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}\n\ndata: [DONE]\n\n'
    )
    upstream.script(Header("content-type", "text/event-stream"), Body(sent), wire=Wire(framing="chunked", write_size=5))
    body = b'{"model":"mock-model","stream":true,"messages":[],"stream_options":{"include_usage":true}}'
    assert dechunked(all_of(raw(start(upstream), body))) == sent
    assert upstream.requests[0].body == body


def test_a_usage_chunk_that_only_we_asked_for_is_taken_out_but_accounted(start: Start, upstream: MockUpstream) -> None:
    process = start(upstream)
    upstream.chat("a", "b", times=2)
    assert all(part.usage is None and part.choices for part in read(process.client()))
    told = read(process.client(), stream_options={"include_usage": True})
    assert [part.usage is not None for part in told] == [False] * (len(told) - 1) + [True]
    assert told[-1].choices == []
    process.stop()
    first, second = process.calls()
    assert first["completion_tokens"] == second["completion_tokens"] > 0


def test_a_huge_event_and_very_many_tiny_ones(start: Start, upstream: MockUpstream) -> None:
    process = start(upstream)
    upstream.script(chunk("x" * 6_000_000, finish_reason="stop"), Done(), wire=Wire(write_size=100_000))
    assert len(text_of(read(process.client()))) == 6_000_000
    upstream.script(*[chunk("y")] * 20_000, chunk("", finish_reason="stop"), Done(), wire=Wire(merge=50))
    assert len(text_of(read(process.client()))) == 20_000


# -- failures


def test_a_failure_after_text_is_an_error_event_without_done(start: Start, upstream: MockUpstream, second: MockUpstream) -> None:
    upstream.script(chunk("half"), Delay(0.05), Cut(reset=True))
    process = start(upstream, second)
    got = dechunked(all_of(raw(process, b'{"model":"mock-model","stream":true,"messages":[]}')))
    assert b"half" in got
    assert b'data: {"error":' in got
    assert b"upstream_truncated" in got
    assert b"[DONE]" not in got
    assert second.requests == []


def test_the_client_library_raises_on_that_error(start: Start, upstream: MockUpstream) -> None:
    upstream.script(chunk("half"), Delay(0.05), Cut())
    seen: list[Any] = []
    stream = start(upstream).client().chat.completions.create(model="mock-model", messages=HELLO, stream=True)
    with pytest.raises(openai.APIError, match="closed the connection"):
        seen.extend(part for part in stream)
    assert text_of(seen) == "half"


def test_a_stream_that_ends_without_finish_is_an_error_and_logged_as_truncated(start: Start, upstream: MockUpstream) -> None:
    upstream.script(Header("content-type", "text/event-stream"), chunk("half"), wire=Wire(framing="chunked"))
    process = start(upstream)
    got = dechunked(all_of(raw(process, b'{"model":"mock-model","stream":true,"messages":[]}')))
    assert b"without a finish reason" in got
    assert b"[DONE]" not in got
    process.stop()
    assert process.calls()[0]["error"] == "upstream_truncated"


def test_a_stream_that_forgot_done_but_finished_is_completed(start: Start, upstream: MockUpstream) -> None:
    upstream.chat("all", " here", done=False)
    got = dechunked(all_of(raw(start(upstream), b'{"model":"mock-model","stream":true,"messages":[]}')))
    assert got.endswith(b"data: [DONE]\n\n")
    assert b"error" not in got


def test_an_error_event_after_text_is_passed_on_once(start: Start, upstream: MockUpstream) -> None:
    upstream.script(
        chunk("half"), Event({"error": {"message": "boom", "type": "server_error", "param": None, "code": "x"}}), Done()
    )
    got = dechunked(all_of(raw(start(upstream), b'{"model":"mock-model","stream":true,"messages":[]}')))
    assert got.count(b'"error"') == 1
    assert b"boom" in got
    assert b"[DONE]" not in got


@pytest.mark.parametrize(
    "broken", [(Cut(),), (Cut(reset=True),), (Header("content-type", "text/event-stream"), Comment(), Delay(0.05), Cut())]
)
def test_a_failure_before_text_falls_back(
    start: Start, upstream: MockUpstream, second: MockUpstream, broken: tuple[Any, ...]
) -> None:
    upstream.script(*broken)
    second.chat("from", " the second")
    assert text_of(read(start(upstream, second).client())) == "from the second"
    assert (len(upstream.requests), len(second.requests)) == (1, 1)


def test_an_error_event_before_text_falls_back(start: Start, upstream: MockUpstream, second: MockUpstream) -> None:
    upstream.script(Event({"error": {"message": "overloaded", "code": 503}}))
    second.chat("ok")
    assert text_of(read(start(upstream, second).client())) == "ok"


@pytest.mark.parametrize("stream", [False, True])
def test_a_503_of_the_first_backend_is_answered_by_the_second(
    start: Start, upstream: MockUpstream, second: MockUpstream, stream: bool
) -> None:
    upstream.error(503, "down")
    second.chat("ok")
    client = start(upstream, second).client()
    if stream:
        assert text_of(read(client)) == "ok"
        return
    answer = client.chat.completions.with_raw_response.create(model="mock-model", messages=HELLO)
    assert answer.parse().choices[0].message.content == "ok"
    assert answer.headers["x-antiphon-model"] == "p1/mock-model"


def test_all_backends_down_tells_the_last_error_with_retry_after(
    start: Start, upstream: MockUpstream, second: MockUpstream
) -> None:
    upstream.error(503, "down")
    second.error(429, "slow down", retry_after=7)
    with pytest.raises(openai.RateLimitError) as caught:
        read(start(upstream, second).client())
    assert caught.value.response.headers["retry-after"] == "7"


def test_a_silent_time_out_in_a_stream_is_an_error_event(start: Start, upstream: MockUpstream, second: MockUpstream) -> None:
    upstream.script(chunk("half"), Hang())
    process = start(upstream, second, idle_timeout=0.5)
    got = dechunked(all_of(raw(process, b'{"model":"mock-model","stream":true,"messages":[]}')))
    assert b"upstream_timeout" in got
    assert b"[DONE]" not in got
    assert second.requests == []
    assert upstream.requests[0].wait_closed(5)


def test_silence_before_the_first_byte_falls_back(start: Start, upstream: MockUpstream, second: MockUpstream) -> None:
    upstream.script(Hang())
    second.chat("ok")
    assert text_of(read(start(upstream, second, first_byte_timeout=0.5).client())) == "ok"


def test_a_400_is_not_tried_elsewhere_and_comes_through_as_it_is(
    start: Start, upstream: MockUpstream, second: MockUpstream
) -> None:
    upstream.error(400, "no such role", code="bad_role")
    with pytest.raises(openai.BadRequestError) as caught:
        read(start(upstream, second).client())
    assert caught.value.code == "bad_role"
    assert second.requests == []


def test_an_answer_cut_in_the_middle_of_its_body_falls_back(start: Start, upstream: MockUpstream, second: MockUpstream) -> None:
    upstream.script(
        Status(200), Header("content-type", "application/json"), Header("content-length", "500"), Body('{"id"'), Delay(0.05), Cut()
    )
    second.chat("whole")
    answer = start(upstream, second).client().chat.completions.create(model="mock-model", messages=HELLO)
    assert answer.choices[0].message.content == "whole"


# -- the client leaves


def test_the_upstream_sees_the_close_within_a_second_and_nobody_else_is_asked(
    start: Start, upstream: MockUpstream, second: MockUpstream
) -> None:
    gate = Gate()
    upstream.script(*[chunk(f"{i} ") for i in range(2)], gate, *[chunk("late") for _ in range(98)], Done())
    process = start(upstream, second)
    sock = raw(process, b'{"model":"mock-model","stream":true,"messages":[]}')
    got = b""
    while got.count(b"data: ") < 2:
        got += sock.recv(65536)
    sock.close()
    left = time.monotonic()
    assert upstream.requests[0].wait_closed(5)
    assert time.monotonic() - left < 1.0
    gate.open()
    process.stop()
    assert second.requests == []
    (call,) = process.calls()
    assert (call["status"], call["error"]) == (499, "client_gone")


def test_leaving_before_the_answer_begins_cancels_it_too(start: Start, upstream: MockUpstream, second: MockUpstream) -> None:
    upstream.script(Hang())
    process = start(upstream, second)
    sock = raw(process, b'{"model":"mock-model","messages":[]}')
    assert upstream.wait_requests(1)
    sock.close()
    assert upstream.requests[0].wait_closed(1)
    assert second.requests == []


def test_thirty_large_streams_dropped_at_once_leave_health_quick(start: Start, upstream: MockUpstream) -> None:
    upstream.script(*[chunk("x" * 65536)] * 80, chunk("", finish_reason="stop"), Done(), times=None)
    process = start(upstream)
    socks = [raw(process, b'{"model":"mock-model","stream":true,"messages":[]}') for _ in range(30)]
    for sock in socks:
        sock.recv(1000)
    for sock in socks:
        sock.close()
    with socket.create_connection(("127.0.0.1", process.port), timeout=5) as health:
        health.sendall(b"GET /health HTTP/1.1\r\nhost: a\r\n\r\n")
        assert b"200 OK" in health.recv(1000)
    assert upstream.wait_idle(10)


def test_a_slow_caller_holds_the_upstream_back(start: Start, upstream: MockUpstream) -> None:
    total = 400
    upstream.script(*[chunk("x" * 100_000)] * total, chunk("", finish_reason="stop"), Done())
    process = start(upstream)
    sock = raw(process, b'{"model":"mock-model","stream":true,"messages":[]}')
    sock.recv(1000)
    with open(f"/proc/{process.process.pid}/statm") as statm:
        pages = int(statm.read().split()[1])
    assert upstream.in_flight == 1
    assert pages * 4096 < 200 << 20
    assert all_of(sock).count(b"x" * 100_000) >= total - 1


# -- connections that grow too old are replaced, and no stream is cut by it


def test_a_stream_outlives_the_age_of_its_connection(start: Start, upstream: MockUpstream) -> None:
    client = start(upstream, max_connection_age=0.2).client()
    parts = [step for number in range(10) for step in (Delay(0.1), chunk(str(number)))]
    upstream.script(Header("content-type", "text/event-stream"), *parts, chunk("", finish_reason="stop"), Done())
    assert text_of(read(client)) == "0123456789"
    before = upstream.connections
    upstream.chat("Hello")
    assert client.chat.completions.create(model="mock-model", messages=HELLO).choices[0].message.content == "Hello"
    assert upstream.connections == before + 1


@pytest.mark.parametrize("end", [[], [Done()]], ids=["without an end", "with its end"])
def test_every_event_has_the_callers_name_of_the_model(start: Start, upstream: MockUpstream, end: list[Any]) -> None:
    """Also those that had to be mended or were held back, beside others that a server spells in its own way."""
    spaced = '{"id": "c1", "model": "mock-model", "created": 1, "choices": [{"index": 0, "delta": {"content": "hi"}}]}'
    call = {"index": 0, "delta": {"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}]}}
    odd = Event({"id": "c1", "created": 1, "model": "mock-model", "choices": [call]})
    counts = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    used = Event({"id": "c1", "created": 1, "model": "mock-model", "choices": [], "usage": counts})
    last = chunk("", finish_reason="tool_calls")
    upstream.script(Header("content-type", "text/event-stream"), odd, Event(spaced), last, used, *end, wire=Wire(merge=0))
    client = start(upstream, models=[{"name": "mine", "upstream": "mock-model"}]).client()
    stream = client.chat.completions.create(model="mine", messages=HELLO, stream=True, stream_options={"include_usage": True})
    chunks = list(stream)
    assert [part.model for part in chunks] == ["mine"] * 4
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.total_tokens == 3
