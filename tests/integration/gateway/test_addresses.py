"""Only the configuration says which addresses are called: neither a caller nor a server can name another."""

import json
import socket
from collections.abc import Callable
from typing import Any

import openai
import pytest

from antiphon.testing import Body, Header, MockUpstream, Status
from tests.integration.gateway.data_plane import Running

Start = Callable[..., Running]
HELLO: Any = [{"role": "user", "content": "hello"}]

pytestmark = pytest.mark.parametrize("workers", [1, 4])


def call(process: Running, fields: dict[str, Any] | None = None, head: str = "", target: str = "/v1/chat/completions") -> bytes:
    """One call with these fields of the body, lines of the head and target; all that is answered."""
    body = json.dumps({"model": "mock-model", "messages": HELLO, **(fields or {})}).encode()
    host = "" if head.startswith("host:") else "host: gateway\r\n"
    lines = f"POST {target} HTTP/1.1\r\n{host}{head}connection: close\r\ncontent-length: {len(body)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", process.port), timeout=10) as sock:
        sock.sendall(lines.encode() + body)
        answer = b""
        while piece := sock.recv(65536):
            answer += piece
    return answer


def test_a_redirect_is_an_error_and_is_not_followed(start: Start, upstream: MockUpstream, second: MockUpstream) -> None:
    client = start(upstream).client()
    for status in (301, 302, 303, 307, 308):
        for stream in (False, True):
            upstream.script(Status(status), Header("location", f"{second.url}/chat/completions"), Body(b""))
            with pytest.raises(openai.InternalServerError, match=f"status {status}"):
                client.chat.completions.create(model="mock-model", messages=HELLO, stream=stream)
    assert second.connections == 0
    assert len(upstream.requests) == 10


REFUSED = ("base_url", "api_base")
PASSED_ON = ("api_url", "endpoint", "url", "proxy", "api_key", "organization", "custom_llm_provider", "extra_headers")


def test_a_field_of_the_body_names_no_address(start: Start, upstream: MockUpstream, second: MockUpstream) -> None:
    process = start(upstream)
    for field in (*REFUSED, *PASSED_ON):
        value = {"host": f"127.0.0.1:{second.port}"} if field == "extra_headers" else second.url
        answer = call(process, {field: value})
        assert answer.startswith(b"HTTP/1.1 400 ") == (field in REFUSED), field
        assert second.connections == 0, field
    assert [request.header("host") for request in upstream.requests] == [f"127.0.0.1:{upstream.port}"] * len(PASSED_ON)


HEADERS = (
    "x-forwarded-host", "x-forwarded-server", "x-forwarded-for", "forwarded", "x-original-url", "x-rewrite-url", "x-api-base",
    "x-base-url", "x-provider-url", "x-host", "proxy", "host",
)  # fmt: skip


def test_a_header_names_no_address(start: Start, upstream: MockUpstream, second: MockUpstream) -> None:
    process = start(upstream)
    address = f"127.0.0.1:{second.port}"
    for number, name in enumerate(HEADERS):
        value = {"forwarded": f"host={address}", "host": address, "proxy": address}.get(name, second.url)
        assert call(process, head=f"{name}: {value}\r\n").startswith(b"HTTP/1.1 200 "), name
        assert second.connections == 0, name
        assert len(upstream.requests) == number + 1, name
        request = upstream.requests[-1]
        assert (request.header("host"), request.path) == (f"127.0.0.1:{upstream.port}", "/v1/chat/completions"), name
        assert name == "host" or name not in dict(request.headers)


TARGETS = (
    "http://127.0.0.1:{port}/v1/chat/completions",
    "https://127.0.0.1:{port}/v1/chat/completions",
    "http://169.254.169.254/latest/meta-data/",
    "//127.0.0.1:{port}/v1/chat/completions",
    "/v1/chat/completions?base_url=http://127.0.0.1:{port}",
    "/v1/chat/completions/../../http://127.0.0.1:{port}/",
    "/v1/http://127.0.0.1:{port}/",
    "127.0.0.1:{port}",
)


def test_a_target_names_no_address(start: Start, upstream: MockUpstream, second: MockUpstream) -> None:
    process = start(upstream)
    for target in TARGETS:
        call(process, target=target.format(port=second.port))
        assert second.connections == 0, target
        assert {request.header("host") for request in upstream.requests} <= {f"127.0.0.1:{upstream.port}"}, target
        assert {request.path for request in upstream.requests} <= {"/v1/chat/completions"}, target


def test_a_model_names_no_address(start: Start, upstream: MockUpstream, second: MockUpstream) -> None:
    process = start(upstream)
    for model in ("http://127.0.0.1:{port}/v1", "openai/http://127.0.0.1:{port}", "127.0.0.1:{port}/m", "p0/../m"):
        answer = call(process, {"model": model.format(port=second.port)})
        assert answer.startswith(b"HTTP/1.1 404 "), model
        assert second.connections == upstream.connections == 0, model


def test_an_image_is_fetched_by_nobody_here(start: Start, upstream: MockUpstream, second: MockUpstream) -> None:
    image = {"type": "image_url", "image_url": {"url": f"{second.url}/image.png"}}
    call(start(upstream), {"messages": [{"role": "user", "content": [image]}]})
    assert len(upstream.requests) == 1
    assert second.connections == 0


def test_connect_opens_no_tunnel(start: Start, upstream: MockUpstream, second: MockUpstream) -> None:
    with socket.create_connection(("127.0.0.1", start(upstream).port), timeout=10) as sock:
        sock.sendall(b"CONNECT 127.0.0.1:%d HTTP/1.1\r\nhost: 127.0.0.1:%d\r\n\r\n" % (second.port, second.port))
        assert sock.recv(65536).startswith(b"HTTP/1.1 4")
    assert second.connections == 0
