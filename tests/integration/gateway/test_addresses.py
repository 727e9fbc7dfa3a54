"""Only the configuration says which addresses are called: neither a caller nor a server can name another."""

import json
import socket
from collections.abc import Callable
from typing import Any

import openai
import pytest

from antiphon.testing import Body, Header, MockUpstream, Status
from tests.integration.gateway.data_plane import DataPlaneProcess

Start = Callable[..., DataPlaneProcess]
HELLO: Any = [{"role": "user", "content": "hello"}]


def call(
    process: DataPlaneProcess, fields: dict[str, Any] | None = None, head: str = "", target: str = "/v1/chat/completions"
) -> bytes:
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


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("stream", [False, True])
def test_a_redirect_is_an_error_and_is_not_followed(
    start: Start, upstream: MockUpstream, second: MockUpstream, status: int, stream: bool
) -> None:
    upstream.script(Status(status), Header("location", f"{second.url}/chat/completions"), Body(b""))
    with pytest.raises(openai.InternalServerError, match=f"status {status}"):
        start(upstream).client().chat.completions.create(model="mock-model", messages=HELLO, stream=stream)
    assert second.connections == 0
    assert len(upstream.requests) == 1


@pytest.mark.parametrize(
    "field",
    [
        "base_url",
        "api_base",
        "api_url",
        "endpoint",
        "url",
        "proxy",
        "api_key",
        "organization",
        "custom_llm_provider",
        "extra_headers",
    ],
)
def test_a_field_of_the_body_names_no_address(start: Start, upstream: MockUpstream, second: MockUpstream, field: str) -> None:
    value = {"host": f"127.0.0.1:{second.port}"} if field == "extra_headers" else second.url
    answer = call(start(upstream), {field: value})
    assert answer.startswith(b"HTTP/1.1 400 ") == (field in ("base_url", "api_base"))
    assert second.connections == 0
    assert [request.header("host") for request in upstream.requests] in ([], [f"127.0.0.1:{upstream.port}"])


@pytest.mark.parametrize(
    "name",
    [
        "x-forwarded-host",
        "x-forwarded-server",
        "x-forwarded-for",
        "forwarded",
        "x-original-url",
        "x-rewrite-url",
        "x-api-base",
        "x-base-url",
        "x-provider-url",
        "x-host",
        "proxy",
        "host",
    ],
)
def test_a_header_names_no_address(start: Start, upstream: MockUpstream, second: MockUpstream, name: str) -> None:
    value = {"forwarded": f"host=127.0.0.1:{second.port}", "host": f"127.0.0.1:{second.port}", "proxy": f"127.0.0.1:{second.port}"}
    answer = call(start(upstream), head=f"{name}: {value.get(name, second.url)}\r\n")
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert second.connections == 0
    (request,) = upstream.requests
    assert request.header("host") == f"127.0.0.1:{upstream.port}"
    assert request.path == "/v1/chat/completions"
    assert name == "host" or name not in dict(request.headers)


@pytest.mark.parametrize(
    "target",
    [
        "http://127.0.0.1:{port}/v1/chat/completions",
        "https://127.0.0.1:{port}/v1/chat/completions",
        "http://169.254.169.254/latest/meta-data/",
        "//127.0.0.1:{port}/v1/chat/completions",
        "/v1/chat/completions?base_url=http://127.0.0.1:{port}",
        "/v1/chat/completions/../../http://127.0.0.1:{port}/",
        "/v1/http://127.0.0.1:{port}/",
        "127.0.0.1:{port}",
    ],
)
def test_a_target_names_no_address(start: Start, upstream: MockUpstream, second: MockUpstream, target: str) -> None:
    call(start(upstream), target=target.format(port=second.port))
    assert second.connections == 0
    assert {request.header("host") for request in upstream.requests} <= {f"127.0.0.1:{upstream.port}"}
    assert {request.path for request in upstream.requests} <= {"/v1/chat/completions"}


@pytest.mark.parametrize("model", ["http://127.0.0.1:{port}/v1", "openai/http://127.0.0.1:{port}", "127.0.0.1:{port}/m", "p0/../m"])
def test_a_model_names_no_address(start: Start, upstream: MockUpstream, second: MockUpstream, model: str) -> None:
    answer = call(start(upstream), {"model": model.format(port=second.port)})
    assert answer.startswith(b"HTTP/1.1 404 ")
    assert second.connections == upstream.connections == 0


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
