"""The client over TLS: it trusts what it was told to, and tells clearly what it does not trust."""

import asyncio
import socket
import ssl
from datetime import timedelta
from pathlib import Path

import pytest
import uvloop

from antiphon.core.errors import ConfigError, UpstreamBroken, UpstreamError, UpstreamUnreachable
from antiphon.testing import Body, Header, MockUpstream
from antiphon.transport.client import ClientPool, ClientTimeouts, Origin, Route
from antiphon.transport.fetching import Response, fetch
from antiphon.transport.tls import TlsOptions, client_context, server_context
from tests.integration.transport import asking
from tests.integration.transport.certificates import Authority


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def ask(upstream: MockUpstream, tls: TlsOptions, times: int = 1) -> Response:
    return asking.ask(Origin("https", "127.0.0.1", upstream.port), Route(tls), times)


def test_an_authority_of_ones_own_is_trusted_and_the_connection_used_again(authority: Authority) -> None:
    with MockUpstream(tls=authority.server("127.0.0.1")) as upstream:
        assert ask(upstream, TlsOptions(ca_file=str(authority.file)), times=3).status == 200
        assert upstream.connections == 1


def test_large_bodies_both_ways(authority: Authority) -> None:
    async def main() -> Response:
        origin = Origin("https", "127.0.0.1", upstream.port)
        pool = ClientPool(origin, route=Route(TlsOptions(ca_file=str(authority.file))))
        try:
            return await fetch(pool, "POST", "/v1/x", (), b"x" * 3_000_000)
        finally:
            await pool.close()

    with MockUpstream(tls=authority.server("127.0.0.1")) as upstream:
        upstream.script(Header("content-type", "text/plain"), Body(b"y" * 3_000_000))
        assert uvloop.run(main()).body == b"y" * 3_000_000
        assert len(upstream.requests[0].body) == 3_000_000


@pytest.mark.parametrize(
    ("names", "expires", "trusted", "reason"),
    [
        (("127.0.0.1",), timedelta(days=1), False, "signed by an authority that is not trusted here; set the provider's ca_file"),
        (("127.0.0.1",), timedelta(days=-1), True, "has expired; renew"),
        (("other.example",), timedelta(days=1), True, "is for another address; write the provider's url"),
    ],
)
def test_what_is_not_trusted_is_refused_by_reason(
    authority: Authority, names: tuple[str, ...], expires: timedelta, trusted: bool, reason: str
) -> None:
    with MockUpstream(tls=authority.server(*names, expires=expires)) as upstream:
        with pytest.raises(UpstreamUnreachable) as caught:
            ask(upstream, TlsOptions(ca_file=str(authority.file)) if trusted else TlsOptions())
        assert reason in str(caught.value)
        assert f"https://127.0.0.1:{upstream.port} " in str(caught.value)
        assert upstream.requests == []


def test_another_name_may_be_asked_for(authority: Authority) -> None:
    with MockUpstream(tls=authority.server("inside.example")) as upstream:
        options = TlsOptions(ca_file=str(authority.file), server_name="inside.example")
        assert ask(upstream, options).status == 200
        with pytest.raises(UpstreamUnreachable, match="is for another host"):
            ask(upstream, TlsOptions(ca_file=str(authority.file), server_name="outside.example"))


def test_unverified_only_where_it_was_asked_for(tmp_path: Path) -> None:
    with MockUpstream(tls=Authority(tmp_path).server("other.example")) as upstream:
        assert ask(upstream, TlsOptions(verify=False)).status == 200


def test_a_certificate_of_the_client(authority: Authority) -> None:
    cert, key = authority.issue("client.example")
    with MockUpstream(tls=authority.server("127.0.0.1", clients=True)) as upstream:
        trusting = TlsOptions(ca_file=str(authority.file))
        assert ask(upstream, TlsOptions(str(authority.file), str(cert), str(key))).status == 200
        with pytest.raises(UpstreamError) as caught:
            ask(upstream, trusting)
        assert isinstance(caught.value, UpstreamBroken | UpstreamUnreachable)
        assert "certificate" in str(caught.value)


def test_a_server_that_speaks_no_tls() -> None:
    with MockUpstream() as upstream, pytest.raises(UpstreamUnreachable, match="does not speak TLS"):
        ask(upstream, TlsOptions())


@pytest.mark.parametrize("silent", [True, False])
def test_a_server_that_breaks_the_handshake_off(silent: bool) -> None:
    async def main() -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.setblocking(False)
            loop = asyncio.get_running_loop()
            timeouts = ClientTimeouts(connect=0.3 if silent else 5)
            pool = ClientPool(Origin("https", "127.0.0.1", listener.getsockname()[1]), timeouts)
            call = asyncio.ensure_future(fetch(pool, *asking.POST))
            peer, _ = await loop.sock_accept(listener)
            with peer:
                if not silent:
                    await loop.sock_recv(peer, 1)
                    peer.close()
                with pytest.raises(UpstreamUnreachable, match="within 0.3 s" if silent else "during the TLS handshake"):
                    await call
            await pool.close()

    uvloop.run(main())


def test_system_authorities_are_the_default() -> None:
    context = client_context(TlsOptions())
    assert context is client_context(TlsOptions())
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname


def test_files_that_cannot_be_used_are_named(authority: Authority, tmp_path: Path) -> None:
    cert, key = authority.issue("a.example")
    _, other = authority.issue("b.example")
    text = tmp_path / "notes.txt"
    text.write_text("no certificate")
    for options, field, reason in (
        (TlsOptions(ca_file="/nowhere/ca.pem"), "ca_file", "No such file"),
        (TlsOptions(ca_file=str(text)), "ca_file", "holds no certificates in PEM form"),
        (TlsOptions(client_cert="/nowhere/c.pem"), "client_cert", "No such file"),
        (TlsOptions(client_cert=str(cert), client_key="/nowhere/k.pem"), "client_key", "No such file"),
        (TlsOptions(client_cert=str(cert), client_key=str(other)), "client_key", "does not belong to the certificate"),
        (TlsOptions(client_cert=str(cert), client_key=str(text)), "client_cert", "cannot be used"),
    ):
        with pytest.raises(ConfigError, match=reason) as caught:
            client_context(options)
        assert caught.value.key == field
    with pytest.raises(ConfigError, match="does not belong") as caught:
        server_context(str(cert), str(other))
    assert caught.value.key == "tls_key"
    server_context(str(cert), str(key))
