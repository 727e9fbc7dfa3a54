"""Whatever goes wrong with a call, its caller reads what happened and what to do next."""

import gzip
import http.client
import json
import socket
from collections.abc import Callable
from typing import Any

import pytest

from antiphon.testing import Body, Cut, Delay, Event, Hang, Header, MockUpstream, Raw, Status
from tests.integration.gateway.data_plane import DataPlaneProcess

Start = Callable[..., DataPlaneProcess]
CHAT = "/v1/chat/completions"
ASK: dict[str, Any] = {"model": "mock-model", "messages": [{"role": "user", "content": "hello"}]}
STREAM = {**ASK, "stream": True}
HTML = Header("content-type", "text/html")
EVENTS = Header("content-type", "text/event-stream")
TOLD = Event({"choices": [{"index": 0, "delta": {"content": "hi"}}]})


def asked(process: DataPlaneProcess, method: str, path: str, body: bytes | dict[str, Any] = b"", **headers: str) -> tuple[int, Any]:
    """Status and error of an answer; of a stream, the error that ended it."""
    connection = http.client.HTTPConnection("127.0.0.1", process.port, timeout=20)
    try:
        connection.request(method, path, json.dumps(body) if isinstance(body, dict) else body, headers)
        answer = connection.getresponse()
        content = answer.read()
    finally:
        connection.close()
    if answer.headers["content-type"].startswith("text/event-stream"):
        content = content.strip().rpartition(b"data: ")[2]
    told = json.loads(content)
    return answer.status, told.get("error", told)  # rankings tell an error bare


def has_remedy(message: str) -> bool:
    what, separator, remedy = message.partition("; ")
    return bool(what and separator and remedy.strip())


REQUESTS: dict[str, tuple[str, str, bytes | dict[str, Any], int, str]] = {
    "no endpoint": ("GET", "/nothing", b"", 404, "there is no endpoint"),
    "wrong method": ("GET", CHAT, b"", 405, "use POST"),
    "write a reading": ("DELETE", "/health", b"", 405, "use GET"),
    "no JSON": ("POST", CHAT, b"{", 400, "not valid JSON"),
    "no body": ("POST", CHAT, b"", 400, "not valid JSON"),
    "a list": ("POST", CHAT, b"[]", 400, "the request body must be an object, not a list"),
    "a number": ("POST", "/v1/embeddings", b"7", 400, "the request body must be an object, not a whole number"),
    "no model": ("POST", CHAT, {"messages": []}, 400, "the field `model` is missing"),
    "a model that is a list": ("POST", CHAT, {"model": []}, 400, "the field `model` must be a text, not a list"),
    "an empty model": ("POST", CHAT, {"model": ""}, 400, "the field `model` is empty"),
    "a stream that is a text": ("POST", CHAT, {**ASK, "stream": "x"}, 400, "the field `stream` must be true or false, not a text"),
    "an unknown model": ("POST", CHAT, {**ASK, "model": "nobody"}, 404, "nobody"),
    "an unknown model shown": ("GET", "/v1/models/nobody", b"", 404, "nobody"),
    "an address": ("POST", CHAT, {**ASK, "api_base": "http://x"}, 400, "`api_base` is not taken"),
    "too much": ("POST", CHAT, b"x" * (2 << 20), 413, "larger than 1 MiB"),
    "a control plane that is down": ("GET", "/metrics", b"", 502, "the control plane does not answer"),
}


def test_every_request_that_is_refused_learns_what_to_do(start: Start, upstream: MockUpstream) -> None:
    process = start(upstream, more="server: {max_body_mb: 1}\n")
    for name, (method, path, body, status, words) in REQUESTS.items():
        got, error = asked(process, method, path, body)
        assert got == status, name
        assert words in error["message"], name
        assert has_remedy(error["message"]), (name, error["message"])
    assert "server.max_body_mb" in asked(process, "POST", CHAT, b"x" * (2 << 20))[1]["message"]


PATHS = (CHAT, "/v1/completions", "/v1/messages", "/v1/responses", "/v1/embeddings", "/v1/rerank")


@pytest.mark.parametrize("path", PATHS)
def test_a_compressed_body_is_named_as_that(start: Start, upstream: MockUpstream, path: str) -> None:
    process = start(upstream)
    status, error = asked(process, "POST", path, gzip.compress(b"{}"), **{"content-encoding": "gzip"})
    assert (status, "content-encoding gzip" in error["message"], has_remedy(error["message"])) == (415, True, True)
    status, error = asked(process, "POST", path, gzip.compress(b"{}"))
    assert (status, "is compressed (gzip)" in error["message"], has_remedy(error["message"])) == (400, True, True)
    assert asked(process, "POST", path, b"{}", **{"content-encoding": "identity"})[0] == 400  # for want of a model alone
    assert not upstream.requests


def test_half_a_character_is_named_with_its_place(start: Start, upstream: MockUpstream) -> None:
    process = start(upstream, protocol="anthropic")
    status, error = asked(process, "POST", CHAT, {**ASK, "messages": [{"role": "user", "content": "cut\ud83d"}]})
    assert (status, error["param"]) == (400, "messages[0].content")
    assert "lone surrogate" in error["message"]
    body = json.dumps({**ASK, "tools": [{"type": "function", "function": {"name": "é"}}]}, ensure_ascii=False).encode("latin-1")
    status, error = asked(process, "POST", CHAT, body)
    assert (status, "is not UTF-8: 0xe9 at byte" in error["message"]) == (400, True)


def test_a_caller_without_a_key_and_bytes_that_are_no_http_learn_what_to_do(start: Start, upstream: MockUpstream) -> None:
    process = start(upstream, more="server: {keys: [{name: me, key: sk-right}]}\n")
    for headers in ({}, {"authorization": "Bearer sk-wrong"}):
        status, error = asked(process, "POST", CHAT, ASK, **headers)
        assert (status, has_remedy(error["message"])) == (401, True)
    with socket.create_connection(("127.0.0.1", process.port), timeout=10) as sock:
        sock.sendall(b"\x16\x03\x01 this is no HTTP\r\n\r\n")
        answer = b"".join(iter(lambda: sock.recv(65536), b""))
    assert has_remedy(json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["message"])


FAILING: dict[str, tuple[tuple[Any, ...], int, str]] = {
    "an error page": ((Status(500), HTML, Body(b"<h1>oops</h1>")), 500, 'the server "p0" answered with status 500'),
    "a wrong key": ((Status(401), Body({"error": {"message": "no"}})), 502, "check the provider's key"),
    "a page that is not there": ((Status(404), HTML, Body(b"nothing")), 404, "check the provider's url"),
    "a redirect": ((Status(302), Header("location", "/x"), Body(b"")), 502, "status 302"),
    "a login page": ((HTML, Body(b"<html>login</html>")), 502, "not a whole JSON object"),
    "silence": ((Delay(30),), 504, "was silent for"),
    "a closed connection": ((Cut(),), 502, "closed the connection"),
    "no HTTP": ((Raw(b"SSH-2.0-OpenSSH_9.6\r\n"), Cut()), 502, "not HTTP/1.1"),
    "a huge head": ((Raw(b"HTTP/1.1 200 OK\r\nx: " + b"y" * 2_000_000),), 502, "a head of more than"),
}


@pytest.mark.parametrize(("steps", "status", "words"), FAILING.values(), ids=FAILING)
@pytest.mark.parametrize("call", [ASK, STREAM], ids=["whole", "streamed"])
def test_a_server_that_fails_is_told_with_what_to_do(
    start: Start, upstream: MockUpstream, steps: tuple[Any, ...], status: int, words: str, call: dict[str, Any]
) -> None:
    upstream.script(*steps)
    process = start(upstream, first_byte_timeout=0.5)
    got, error = asked(process, "POST", CHAT, call)
    if words == "not a whole JSON object" and "stream" in call:
        words = "answered a streamed call"
    assert got == status
    assert words in error["message"]
    assert has_remedy(error["message"]), error["message"]


@pytest.mark.parametrize("last", [(), (Cut(),), (Hang(),)], ids=["ended", "cut", "silent"])
def test_a_stream_that_breaks_off_ends_with_what_to_do(start: Start, upstream: MockUpstream, last: tuple[Any, ...]) -> None:
    upstream.script(EVENTS, TOLD, *last)
    process = start(upstream, idle_timeout=0.5)
    status, error = asked(process, "POST", CHAT, STREAM)
    assert status == 200
    assert has_remedy(error["message"]), error["message"]


def test_a_server_that_is_not_there_is_told_with_what_to_do(start: Start) -> None:
    with MockUpstream() as gone:
        pass
    status, error = asked(start(gone), "POST", CHAT, ASK)
    assert (status, error["code"]) == (502, "upstream_unreachable")
    assert has_remedy(error["message"]), error["message"]


def test_a_local_process_that_still_starts_is_not_told_as_one_that_has_ended(start: Start) -> None:
    process = start(local="models: []\nembeddings: {enabled: true}\n")
    call = {"model": "usem3", "input": "hello"}
    status, error = asked(process, "POST", "/v1/embeddings", call)
    assert (status, "is still starting" in error["message"]) == (503, True)
    assert has_remedy(error["message"]), error["message"]
    with socket.socket(socket.AF_UNIX) as gone:
        gone.bind(f"{process.run_dir}/compute.sock")
    status, error = asked(process, "POST", "/v1/embeddings", call)
    assert (status, error["code"]) == (502, "engine_failed")
    assert has_remedy(error["message"]), error["message"]
