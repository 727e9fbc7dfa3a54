"""Servers that are slow, broken, cut off or busy, straight before the client."""

import logging
import time
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from antiphon.testing import Body, Comment, Cut, Delay, Done, Event, Hang, Header, MockUpstream, Raw, Status, Wire
from antiphon_client import (
    APIConnectionError,
    APIStatusError,
    APITimeoutError,
    BadRequestError,
    CannotConnectError,
    ConfigurationError,
    DeadlineExceededError,
    InternalServerError,
    InvalidResponseError,
    RateLimitError,
    StreamError,
)
from tests.integration.client.callers import Caller

Connect = Callable[..., Caller]
KEY = "sk-never-to-be-seen"
ASK: Any = {"model": "mock-model", "messages": [{"role": "user", "content": "hello"}]}
ERROR = {
    "error": {"message": "it broke", "type": "server_error", "code": "upstream_truncated", "remedy": "try again"},
    "request_id": "req-x",
}


@pytest.fixture
def caller(connect: Connect, upstream: MockUpstream) -> Caller:
    return connect(upstream.url, timeout=10)


def chunk(text: str, finish: str | None = None) -> Event:
    return Event({"id": "c1", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]})


def text_of(chunks: list[Any]) -> str:
    return "".join(chunk.text for chunk in chunks)


# -- what is tried again


def test_a_busy_server_is_asked_again_after_the_time_that_it_asks_for(caller: Caller, upstream: MockUpstream) -> None:
    upstream.error(429, "slow down", retry_after=0.3).chat("Hello")
    began = time.monotonic()
    answer = caller.call("chat.create", **ASK)
    assert answer.text == "Hello"
    assert answer.http.attempts == 2
    assert 0.3 <= time.monotonic() - began < 10
    first, second = upstream.requests
    assert first.header("x-request-id") == second.header("x-request-id") == answer.request_id
    assert first.body == second.body
    assert first.connection == second.connection


@pytest.mark.parametrize("status", [408, 500, 502, 503, 504, 529])
def test_passing_faults_are_tried_again_streamed_or_not(caller: Caller, upstream: MockUpstream, status: int) -> None:
    upstream.error(status, retry_after=0).chat("Hello").error(status, retry_after=0).chat("Hello")
    assert caller.call("chat.create", **ASK).text == "Hello"
    assert text_of(caller.items("chat.stream", **ASK)) == "Hello"


def test_tries_end_and_the_last_error_is_told(caller: Caller, upstream: MockUpstream) -> None:
    upstream.error(503, "away", retry_after=0, times=None)
    with pytest.raises(InternalServerError, match="away") as told:
        caller.call("chat.create", **ASK, max_retries=3)
    assert told.value.attempts == len(upstream.requests) == 4
    assert "4 attempts" in str(told.value)


def test_a_server_that_wants_to_be_left_alone_for_long_is(caller: Caller, upstream: MockUpstream) -> None:
    upstream.error(429, "come back tomorrow", code="rate_limited", retry_after=3600)
    with pytest.raises(RateLimitError, match="come back tomorrow") as told:
        caller.call("chat.create", **ASK)
    assert (told.value.retry_after, told.value.code, len(upstream.requests)) == (3600, "rate_limited", 1)


def test_no_pause_is_begun_that_the_deadline_would_cut(caller: Caller, upstream: MockUpstream) -> None:
    upstream.error(429, "slow down", retry_after=5)
    began = time.monotonic()
    with pytest.raises(RateLimitError):
        caller.call("chat.create", **ASK, deadline=2)
    assert time.monotonic() - began < 4


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 422, 501])
def test_what_would_fail_again_is_tried_once(caller: Caller, upstream: MockUpstream, status: int) -> None:
    upstream.error(status, "no")
    with pytest.raises(APIStatusError) as told:
        caller.call("chat.create", **ASK)
    assert told.value.status == status
    assert len(upstream.requests) == 1


def test_the_server_may_say_whether_to_try_again(caller: Caller, upstream: MockUpstream) -> None:
    upstream.script(Status(409), Header("x-should-retry", "true"), Header("retry-after", "0"), Body(ERROR)).chat("Hello")
    assert caller.call("chat.create", **ASK).text == "Hello"
    upstream.script(Status(503), Header("x-should-retry", "false"), Body(ERROR))
    with pytest.raises(InternalServerError):
        caller.call("chat.create", **ASK)
    assert len(upstream.requests) == 3


@pytest.mark.parametrize("reset", [False, True])
def test_a_connection_that_closes_before_any_answer_is_tried_again(caller: Caller, upstream: MockUpstream, reset: bool) -> None:
    upstream.script(Cut(reset)).chat("Hello").script(Cut(reset)).chat("Hello")
    assert caller.call("chat.create", **ASK).text == "Hello"
    assert text_of(caller.items("chat.stream", **ASK)) == "Hello"


def test_a_call_that_the_server_keeps_is_not_made_twice(caller: Caller, upstream: MockUpstream) -> None:
    upstream.script(Cut())
    with pytest.raises(APIConnectionError, match="closed the connection before it answered"):
        caller.call("responses.create", model="m", input="hi")
    upstream.script(Cut()).script(Body({"id": "r1", "status": "completed"}))
    assert caller.call("responses.create", model="m", input="hi", idempotency_key="once").id == "r1"
    upstream.script(Cut()).script(Body({"id": "r2", "status": "completed"}))
    assert caller.call("responses.create", model="m", input="hi", store=False).id == "r2"
    keys = [request.header("idempotency-key") for request in upstream.requests]
    assert keys == ["", "once", "once", "", ""]


def test_a_connection_that_the_server_closed_while_idle_does_no_harm(caller: Caller, upstream: MockUpstream) -> None:
    for _ in range(3):
        assert caller.call("chat.create", **ASK, max_retries=0).text == "hello"
        upstream.cut_all()
        while upstream.open_connections:
            time.sleep(0.005)
    assert upstream.connections == 3


# -- what is not


@pytest.mark.parametrize("reset", [False, True])
def test_an_answer_that_has_begun_is_never_asked_for_again(caller: Caller, upstream: MockUpstream, reset: bool) -> None:
    upstream.script(Header("content-length", "100"), Body('{"id": '), Cut(reset))
    with pytest.raises(APIConnectionError, match="broke off its answer") as told:
        caller.call("chat.create", **ASK)
    assert told.value.request_id == upstream.requests[0].header("x-request-id")
    upstream.script(chunk("half"), Cut(reset))
    got: list[Any] = []
    with pytest.raises(APIConnectionError, match="broke off its answer"):
        got.extend(caller.items("chat.stream", **ASK))
    assert len(upstream.requests) == 2


def test_a_stream_that_ends_before_its_end_is_not_taken_for_whole(caller: Caller, upstream: MockUpstream) -> None:
    upstream.script(chunk("half"))
    with pytest.raises(APIConnectionError, match="before it was complete") as told:
        caller.items("chat.stream", **ASK)
    assert told.value.request_id


def test_an_error_inside_a_stream_comes_behind_what_came_before_it(caller: Caller, upstream: MockUpstream) -> None:
    upstream.script(chunk("half"), Event({**ERROR, "request_id": None}), wire=Wire(merge=0))
    assert text_of(caller.items("chat.stream", **ASK, most=1)) == "half"
    upstream.script(chunk("half"), Event(ERROR), wire=Wire(merge=0))
    with pytest.raises(StreamError, match="it broke") as told:
        caller.items("chat.stream", **ASK)
    assert (told.value.code, told.value.remedy, told.value.request_id) == ("upstream_truncated", "try again", "req-x")
    assert told.value.status is None


def test_a_server_that_is_silent_is_given_up_and_not_asked_again(caller: Caller, upstream: MockUpstream) -> None:
    upstream.script(Hang(), times=None)
    began = time.monotonic()
    with pytest.raises(APITimeoutError, match=r"silent for 0\.3 s") as told:
        caller.call("chat.create", **ASK, timeout=0.3)
    assert time.monotonic() - began < 5
    assert not isinstance(told.value, DeadlineExceededError)
    assert told.value.remedy
    assert len(upstream.requests) == 1
    assert upstream.requests[0].wait_closed(1.0)


def test_a_stream_that_falls_silent_is_given_up(caller: Caller, upstream: MockUpstream) -> None:
    upstream.script(chunk("half"), Hang())
    with pytest.raises(APITimeoutError, match=r"silent for 0\.3 s"):
        caller.items("chat.stream", **ASK, timeout=0.3)
    assert upstream.requests[0].wait_closed(1.0)


def test_keep_alives_are_no_silence(caller: Caller, upstream: MockUpstream) -> None:
    waiting = [step for _ in range(8) for step in (Comment(), Delay(0.1))]
    upstream.script(*waiting, chunk("Hello", "stop"), Done())
    assert text_of(caller.items("chat.stream", **ASK, timeout=0.5)) == "Hello"


# -- deadlines


def test_a_deadline_holds_whatever_the_server_drips(caller: Caller, upstream: MockUpstream) -> None:
    drip = Wire(write_size=1, gap=0.05)
    for script in ((Body({"id": "x" * 1000}),), (Header("x-long", "y" * 1000), Body({}))):
        upstream.script(*script, wire=drip)
        began = time.monotonic()
        with pytest.raises(DeadlineExceededError, match=r"deadline of 0\.5 s"):
            caller.call("chat.create", **ASK, deadline=0.5)
        assert 0.45 <= time.monotonic() - began < 5
        assert upstream.requests[-1].wait_closed(1.0)


def test_a_deadline_holds_for_a_stream_that_never_ends(caller: Caller, upstream: MockUpstream) -> None:
    upstream.script(*(step for _ in range(200) for step in (chunk("on and "), Delay(0.05))))
    began = time.monotonic()
    with pytest.raises(DeadlineExceededError):
        caller.items("chat.stream", **ASK, deadline=0.5)
    assert 0.45 <= time.monotonic() - began < 5
    assert upstream.requests[0].wait_closed(1.0)


def test_a_deadline_counts_all_attempts(caller: Caller, upstream: MockUpstream) -> None:
    upstream.script(Delay(0.2), Status(503), Header("retry-after", "0"), Body(ERROR), times=None)
    began = time.monotonic()
    with pytest.raises((DeadlineExceededError, InternalServerError)):
        caller.call("chat.create", **ASK, deadline=1, max_retries=50)
    assert time.monotonic() - began < 4
    assert 2 <= len(upstream.requests) <= 5


# -- what is no answer


@pytest.mark.parametrize(
    "raw",
    [b"SSH-2.0-OpenSSH_9.6\r\n\r\n", b"\x15\x03\x01\x00\x02\x02", b"HTTP/1.1 two hundred\r\n\r\n", b"\x00" * 100],
    ids=["ssh", "tls", "status", "nul"],
)
def test_what_speaks_no_http_is_told_and_not_asked_again(caller: Caller, upstream: MockUpstream, raw: bytes) -> None:
    upstream.script(Raw(raw), times=None)
    with pytest.raises(APIConnectionError, match="does not speak HTTP"):
        caller.call("chat.create", **ASK)
    assert len(upstream.requests) == 1


@pytest.mark.parametrize("body", [b"", b"<html>Welcome</html>", b"[]", b'{"choices": "none"}'])
def test_what_is_no_answer_of_this_api_is_told(caller: Caller, upstream: MockUpstream, body: bytes) -> None:
    upstream.script(Body(body))
    with pytest.raises(InvalidResponseError) as told:
        caller.call("chat.create", **ASK)
    assert told.value.request_id
    assert told.value.body == body


def test_an_answer_in_one_piece_is_no_stream(caller: Caller, upstream: MockUpstream) -> None:
    upstream.script(Body({"id": "x", "choices": []}))
    with pytest.raises(InvalidResponseError, match="where a stream was asked for"):
        caller.items("chat.stream", **ASK)


@pytest.mark.parametrize("event", ["no json", [1], {"choices": 7}, {"choices": [{"delta": 7}]}])
def test_an_event_that_is_no_chunk_is_told_behind_those_before_it(caller: Caller, upstream: MockUpstream, event: Any) -> None:
    upstream.script(chunk("half"), Event(event), chunk("more", "stop"), Done())
    with pytest.raises(InvalidResponseError) as told:
        caller.items("chat.stream", **ASK)
    assert told.value.request_id


def test_pages_of_a_proxy_in_between_are_told_by_their_status(caller: Caller, upstream: MockUpstream) -> None:
    upstream.script(Status(502), Header("content-type", "text/html"), Body("<html><h1>Bad Gateway</h1>"), times=None)
    with pytest.raises(InternalServerError, match="answered with status 502") as told:
        caller.call("chat.create", **ASK, max_retries=0)
    assert told.value.body.startswith(b"<html>")


def test_an_error_whose_body_breaks_off_is_still_that_error(caller: Caller, upstream: MockUpstream) -> None:
    upstream.script(Status(400), Header("content-length", "100"), Body("{"), Cut())
    with pytest.raises(BadRequestError):
        caller.call("chat.create", **ASK)


def test_a_redirect_is_told_and_not_followed_with_the_key(caller: Caller, upstream: MockUpstream) -> None:
    with MockUpstream() as other:
        upstream.script(Status(307), Header("location", other.url), Body(""))
        with pytest.raises(APIStatusError, match="sends us to") as told:
            caller.call("chat.create", **ASK)
        assert other.requests == []
    assert "base URL" in told.value.remedy


def test_nobody_answers_at_all(connect: Connect) -> None:
    with MockUpstream() as gone:
        pass
    with pytest.raises(CannotConnectError, match=r"[Cc]onnection refused") as told:
        connect(gone.url).call("models.list", max_retries=1)
    assert told.value.attempts == 2
    assert "antiphon serve" in told.value.remedy
    with pytest.raises(CannotConnectError, match="no server answers"):
        connect("http://no-such-host.invalid").call("models.list", max_retries=0)


# -- the wire


@pytest.mark.parametrize("wire", [Wire(write_size=1), Wire(newline="\r\n", merge=0), Wire(merge=3), Wire(framing="close")], ids=str)
def test_a_stream_reads_the_same_however_it_is_cut(caller: Caller, upstream: MockUpstream, wire: Wire) -> None:
    upstream.chat("Grüße, ", "世界", " 🎶", usage=True, wire=wire)
    final = caller.final("chat.stream", **ASK)
    assert final.text == "Grüße, 世界 🎶"
    assert final.finish_reason == "stop"
    assert final.usage.completion_tokens == 3


def test_connections_are_used_again_also_behind_streams_and_errors(caller: Caller, upstream: MockUpstream) -> None:
    for _ in range(3):
        upstream.chat("Hello").chat("Hello").error(400)
        caller.call("chat.create", **ASK)
        caller.items("chat.stream", **ASK)
        with pytest.raises(BadRequestError):
            caller.call("chat.create", **ASK)
    assert upstream.connections == 1


def test_an_event_of_megabytes_and_very_many_small_ones(caller: Caller, upstream: MockUpstream) -> None:
    big = "x" * (4 << 20)
    upstream.script(chunk(big, "stop"), Done())
    assert caller.final("chat.stream", **ASK).text == big
    upstream.chat(*["ab"] * 20_000, wire=Wire(merge=500))
    assert caller.final("chat.stream", **ASK).text == "ab" * 20_000


# -- leaving


def test_leaving_a_stream_closes_the_connection(caller: Caller, upstream: MockUpstream) -> None:
    upstream.script(chunk("one"), Hang())
    assert text_of(caller.items("chat.stream", **ASK, most=1)) == "one"
    assert upstream.requests[0].wait_closed(1.0)


def test_a_stream_may_be_used_without_with_and_sends_nothing_before_it_is_read(caller: Caller, upstream: MockUpstream) -> None:
    stream = caller.client.chat.stream(**ASK)  # type: ignore[attr-defined]
    assert stream.http is None
    assert upstream.requests == []


# -- secrets


def test_no_key_is_shown_whatever_the_server_repeats(
    connect: Connect, upstream: MockUpstream, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    caller = connect(upstream.url, KEY, headers={"x-api-key": "sk-another-secret"})
    for secret in (KEY, "sk-another-secret"):
        upstream.error(503, f"wrong {secret}", code=secret, retry_after=0)
        upstream.error(401, f"wrong {secret}", code=secret)
        upstream.script(chunk("a"), Event({"error": {"message": secret, "remedy": secret}}))
        upstream.script(Body(f'"{secret}"'))
        for method in ("call", "items", "call"):
            with pytest.raises((APIStatusError, StreamError, InvalidResponseError)) as told:
                getattr(caller, method)("chat.create" if method == "call" else "chat.stream", **ASK)
            shown = f"{told.value} {told.value!r} {told.value.body!r} {told.value.args!r} {told.value.remedy}"
            assert secret not in shown
            assert secret not in "".join(traceback.format_exception(told.value))
            assert "***" in shown
    assert KEY not in caplog.text
    assert "sk-another-secret" not in caplog.text
    assert "attempt 2 of 3" in caplog.text
    assert upstream.requests[0].header("authorization") == f"Bearer {KEY}"


def test_a_closed_client_makes_no_more_calls(connect: Connect, upstream: MockUpstream) -> None:
    caller = connect(upstream.url.removesuffix("/v1"))
    assert caller.call("chat.create", **ASK).text
    caller.call("close")
    for call in (
        lambda: caller.call("chat.create", **ASK),
        lambda: caller.items("chat.stream", **ASK),
        lambda: caller.call("models.list"),
    ):
        with pytest.raises(ConfigurationError, match="is closed; make another"):
            call()
    assert len(upstream.requests) == 1


@pytest.mark.parametrize(
    ("told", "param", "words"),
    [
        ({"temperature": float("nan")}, "temperature", "is nan; give a finite number"),
        ({"extra_body": {"options": [1, {"x": float("-inf")}]}}, "options[1].x", "is -inf"),
        ({"messages": [{"role": "user", "content": "cut \ud83d"}]}, "messages[0].content", "lone surrogate"),
        (
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "\udc00"}]}]},
            "messages[0].content[0].text",
            "lone surrogate",
        ),
        ({"model": "\ud800"}, "model", "lone surrogate"),
        ({"extra_body": {"x": object()}}, None, "cannot be sent as JSON"),
    ],
)
@pytest.mark.parametrize("method", ["chat.create", "chat.stream"])
def test_what_json_cannot_say_is_refused_by_its_place_and_not_sent(
    connect: Connect, upstream: MockUpstream, method: str, told: dict[str, Any], param: str | None, words: str
) -> None:
    caller = connect(upstream.url.removesuffix("/v1"))
    with pytest.raises(ConfigurationError) as refused:
        (caller.call if method == "chat.create" else caller.items)(method, **{**ASK, **told})
    assert (refused.value.param, words in str(refused.value), refused.value.attempts) == (param, True, 0)
    assert refused.value.remedy
    assert not upstream.requests


def test_a_name_in_a_path_that_is_no_unicode_is_refused_too(connect: Connect, upstream: MockUpstream) -> None:
    caller = connect(upstream.url.removesuffix("/v1"))
    for method in ("models.retrieve", "responses.retrieve", "responses.delete"):
        with pytest.raises(ConfigurationError, match="lone surrogate"):
            caller.call(method, "\ud800")
