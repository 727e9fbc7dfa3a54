"""The client through a proxy: tunnels for https, whole requests for http, and errors that are the proxy's told as such."""

import socket
from pathlib import Path

import pytest

from antiphon.core.errors import UpstreamUnreachable
from antiphon.testing import MockUpstream
from antiphon.transport.client import Origin, Route
from antiphon.transport.proxies import Proxy
from antiphon.transport.tls import TlsOptions
from tests.integration.transport.asking import ask
from tests.integration.transport.certificates import Authority
from tests.integration.transport.forward_proxy import ForwardProxy


def test_https_goes_through_a_tunnel_and_its_name_is_left_to_the_proxy(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    with (
        MockUpstream(tls=authority.server("models.example")) as upstream,
        ForwardProxy("me:s3cret/+", hosts={"models.example": "127.0.0.1"}) as proxy,
    ):
        route = Route(TlsOptions(str(authority.file)), Proxy.parse(f"http://me:s3cret%2F+@127.0.0.1:{proxy.port}", "test"))
        assert ask(Origin("https", "models.example", upstream.port), route, times=3).status == 200
        assert len(proxy.heads) == upstream.connections == 1
        assert proxy.heads[0].startswith(f"CONNECT models.example:{upstream.port} HTTP/1.1\r\n")
        assert "proxy-authorization" not in dict(upstream.requests[0].headers)


def test_http_is_passed_on_in_absolute_form() -> None:
    with MockUpstream() as upstream, ForwardProxy("me:s3cret") as proxy:
        origin = Origin("http", "127.0.0.1", upstream.port)
        assert ask(origin, Route(proxy=Proxy.parse(f"http://me:s3cret@127.0.0.1:{proxy.port}", "test")), times=2).status == 200
        assert proxy.heads[0].startswith(f"POST http://127.0.0.1:{upstream.port}/v1/chat/completions HTTP/1.1\r\n")


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize(
    ("credentials", "given", "refuses", "reason"),
    [
        ("me:right", "", 0, "wants credentials (status 407)"),
        ("me:right", "me:wrong@", 0, "does not accept the credentials that it was given (status 407)"),
        ("", "", 502, "could not reach .*: it answered 502 Bad Gateway"),
        ("", "", 504, "could not reach .*: it answered 504 Gateway Timeout"),
    ],
)
def test_what_the_proxy_refuses(scheme: str, credentials: str, given: str, refuses: int, reason: str) -> None:
    with ForwardProxy(credentials, refuses) as proxy:
        route = Route(proxy=Proxy.parse(f"http://{given}127.0.0.1:{proxy.port}", "test"))
        with pytest.raises(UpstreamUnreachable, match=reason.replace("(", r"\(").replace(")", r"\)")) as caught:
            ask(Origin(scheme, "models.example", 81), route)
        assert str(caught.value).startswith(f"the proxy {proxy.url} ")
        assert f"{scheme}://models.example:81" in str(caught.value)
        assert "me:" not in str(caught.value)


def test_a_tunnel_that_only_the_proxy_forbids() -> None:
    with ForwardProxy(refuses=403) as proxy, pytest.raises(UpstreamUnreachable, match="answered 403 Forbidden; check that"):
        ask(Origin("https", "models.example", 443), Route(proxy=Proxy.parse(proxy.url, "test")))


@pytest.mark.parametrize(
    ("garbage", "reason"), [(b"SSH-2.0\r\n\r\n", "is no HTTP proxy"), (b"HTTP/1.1 2", "closed the connection instead")]
)
def test_what_is_no_proxy(garbage: bytes, reason: str) -> None:
    with ForwardProxy(garbage=garbage) as proxy, pytest.raises(UpstreamUnreachable, match=reason):
        ask(Origin("https", "models.example", 443), Route(proxy=Proxy.parse(proxy.url, "test")))


def test_a_proxy_that_is_not_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(
        UpstreamUnreachable, match=f"the proxy http://127.0.0.1:{port} cannot be reached: Connection refused, so https"
    ):
        ask(Origin("https", "models.example", 443), Route(proxy=Proxy("127.0.0.1", port)))
