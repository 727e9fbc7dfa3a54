"""Ways to the server: TLS with authorities of one's own, proxies, Unix sockets, the environment."""

import ssl
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from antiphon.testing import MockUpstream
from antiphon_client import APIStatusError, CannotConnectError, Network
from tests.integration.client.callers import Caller
from tests.integration.transport.certificates import Authority
from tests.integration.transport.forward_proxy import ForwardProxy

Connect = Callable[..., Caller]
ASK: Any = {"model": "mock-model", "messages": [{"role": "user", "content": "hello"}]}


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def test_an_authority_of_ones_own_is_trusted(connect: Connect, authority: Authority) -> None:
    with MockUpstream(tls=authority.server("127.0.0.1")) as upstream:
        caller = connect(upstream.url, network=Network(ca_file=authority.file))
        assert caller.call("chat.create", **ASK).text == "hello"
        assert "".join(chunk.text for chunk in caller.items("chat.stream", **ASK)) == "hello"
        context = ssl.create_default_context(cafile=str(authority.file))
        assert connect(upstream.url, network=Network(tls=context)).call("chat.create", **ASK).text == "hello"


def test_the_environment_names_authorities(connect: Connect, authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    with MockUpstream(tls=authority.server("127.0.0.1")) as upstream:
        assert connect(upstream.url).call("chat.create", **ASK).text == "hello"


def test_a_certificate_that_does_not_hold_is_told_and_nothing_is_sent(connect: Connect, authority: Authority) -> None:
    contexts = {
        "unable to get local issuer": (authority.server("127.0.0.1"), Network()),
        "expired": (authority.server("127.0.0.1", expires=timedelta(days=-1)), Network(ca_file=authority.file)),
        "127.0.0.1": (authority.server("other.example"), Network(ca_file=authority.file)),
    }
    for words, (context, network) in contexts.items():
        with MockUpstream(tls=context) as upstream:
            with pytest.raises(CannotConnectError, match=words) as told:
                connect(upstream.url, network=network).call("chat.create", **ASK)
            assert told.value.attempts == 1
            assert told.value.remedy
            assert upstream.requests == []


def test_a_certificate_of_the_client_is_shown(connect: Connect, authority: Authority) -> None:
    cert, key = authority.issue("client@example.org")
    with MockUpstream(tls=authority.server("127.0.0.1", clients=True)) as upstream:
        network = Network(ca_file=authority.file, client_cert=cert, client_key=key)
        assert connect(upstream.url, network=network).call("chat.create", **ASK).text == "hello"


def test_tls_where_there_is_none_is_told(connect: Connect, upstream: MockUpstream) -> None:
    with pytest.raises(CannotConnectError, match="TLS with") as told:
        connect(upstream.url.replace("http", "https", 1)).call("chat.create", **ASK)
    assert "https or http" in told.value.remedy


def test_a_proxy_passes_calls_on_and_opens_tunnels(connect: Connect, upstream: MockUpstream, authority: Authority) -> None:
    with (
        ForwardProxy("user:pass-word") as proxy,
        MockUpstream(tls=authority.server("127.0.0.1")) as secure,
    ):
        way = proxy.url.replace("//", "//user:pass-word@")
        assert connect(upstream.url, network=Network(proxy=way)).call("chat.create", **ASK).text == "hello"
        network = Network(proxy=way, ca_file=authority.file)
        assert connect(secure.url, network=network).call("chat.create", **ASK).text == "hello"
    assert [head.split(" ")[0] for head in proxy.heads] == ["POST", "CONNECT"]
    assert secure.requests[0].header("proxy-authorization") == ""


def test_a_proxy_that_refuses_is_told_without_its_password(connect: Connect, authority: Authority) -> None:
    with (
        ForwardProxy("user:pass-word") as proxy,
        MockUpstream(tls=authority.server("127.0.0.1")) as secure,
    ):
        network = Network(proxy=proxy.url.replace("//", "//user:wrong-word@"), ca_file=authority.file)
        for url in (secure.url, "http://llm.example.com"):
            with pytest.raises((CannotConnectError, APIStatusError), match="407") as told:
                connect(url, network=network).call("chat.create", **ASK)
            assert "wrong-word" not in f"{told.value} {told.value!r}"
            assert "proxy" in told.value.remedy


def test_proxies_of_the_environment_are_not_taken_for_this_machine(
    connect: Connect, upstream: MockUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    assert connect(upstream.url).call("chat.create", **ASK).text == "hello"


def test_a_unix_socket(connect: Connect, tmp_path: Path) -> None:
    path = tmp_path / "s"
    with MockUpstream(str(path)) as upstream:
        caller = connect(f"unix:{path}")
        assert caller.call("chat.create", **ASK).text == "hello"
        assert "".join(chunk.text for chunk in caller.items("chat.stream", **ASK)) == "hello"
        assert upstream.requests[0].header("host") == "localhost"
    with pytest.raises(CannotConnectError, match="no server answers at unix:"):
        connect(f"unix:{path}").call("chat.create", **ASK, max_retries=0)
    with pytest.raises(CannotConnectError, match="No such file"):
        connect(f"unix:{path}-not-there").call("chat.create", **ASK, max_retries=0)


def test_the_environment_names_server_and_key(connect: Connect, upstream: MockUpstream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTIPHON_BASE_URL", upstream.url)
    monkeypatch.setenv("ANTIPHON_API_KEY", "sk-environment")
    caller = connect(None, None)
    assert caller.call("chat.create", **ASK).text == "hello"
    assert upstream.requests[0].header("authorization") == "Bearer sk-environment"


def test_without_a_key_none_is_sent_and_headers_of_the_caller_go_first(connect: Connect, upstream: MockUpstream) -> None:
    caller = connect(upstream.url, "", headers={"X-Team": "search"})
    caller.call("chat.create", **ASK, extra_headers={"x-team": "ads", "user-agent": "mine/1"}, request_id="my-id")
    request = upstream.requests[0]
    assert request.header("authorization") == ""
    assert (request.header("x-team"), request.header("user-agent"), request.header("x-request-id")) == ("ads", "mine/1", "my-id")
    assert len([name for name, _ in request.headers if name == "x-team"]) == 1
