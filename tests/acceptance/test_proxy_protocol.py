"""``antiphon serve`` behind a load balancer that says who its client is, over HTTP and HTTPS, and plain HTTP on a port of HTTPS."""

import contextlib
import json
import signal
import socket
import ssl
from pathlib import Path

import pytest

from antiphon.testing import MockUpstream
from tests.acceptance.gateway import Gateway, until
from tests.integration.transport.certificates import Authority

LINE = b"PROXY TCP4 192.0.2.7 198.51.100.1 56324 443\r\n"
BODY = b'{"model": "mock-model", "messages": [{"role": "user", "content": "hi"}]}'
CALL = b"POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%b" % (len(BODY), BODY)


def read_all(peer: socket.socket) -> bytes:
    pieces = []
    while piece := peer.recv(65536):
        pieces.append(piece)
    return b"".join(pieces)


def send(port: int, data: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), 30) as peer:
        peer.sendall(data)
        return read_all(peer)


class Behind(Gateway):
    """A gateway that is called by a load balancer only. Its port is all that is known of it, as it answers nobody else."""

    def begin(self) -> None:
        self.port = int(self.server.wait_said(r"https?://127\.0\.0\.1:(\d+)/v1")[1])

    def clients(self) -> list[str]:
        """Of the calls that the log has told."""
        return [json.loads(line)["client"] for line in self.server.said.splitlines() if line.startswith("{") and '"client"' in line]


@pytest.mark.parametrize("workers", [1, 2])
def test_the_callers_address_is_in_the_call_log(tmp_path: Path, workers: int) -> None:
    with MockUpstream() as upstream:
        settings = {"proxy_protocol": "both", "trusted_proxies": ["127.0.0.0/8"], "log_calls": True, "workers": workers}
        gateway = Behind(tmp_path, upstream, **settings)
        gateway.begin()
        assert b'"hi"' in send(gateway.port, LINE + CALL)
        until(lambda: gateway.clients() == ["192.0.2.7"])
        with contextlib.suppress(ConnectionResetError):
            assert send(gateway.port, CALL) == b""
        page = send(gateway.port, LINE + b"GET /metrics HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").decode()
        assert 'antiphon_connections_refused_total{reason="malformed"} 1.0' in page
        assert 'antiphon_connections_refused_total{reason="untrusted"} 0.0' in page
        gateway.rows["server"]["trusted_proxies"] = ["10.0.0.0/8"]
        gateway.write()
        gateway.process.send_signal(signal.SIGHUP)
        gateway.server.wait_said("the new settings are in effect")
        assert send(gateway.port, b"") == b""
        assert gateway.stop() == 0
    assert "it is not among server.trusted_proxies" in gateway.server.said


def test_over_https_the_header_comes_first_and_plain_http_is_told_so(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    cert, key = authority.issue("127.0.0.1")
    trust = ssl.create_default_context(cafile=str(authority.file))
    with MockUpstream() as upstream:
        settings = {"proxy_protocol": "v1", "trusted_proxies": ["127.0.0.1"], "tls_cert": str(cert), "tls_key": str(key)}
        gateway = Behind(tmp_path, upstream, log_calls=True, **settings)
        gateway.begin()
        plain = socket.create_connection(("127.0.0.1", gateway.port), 30)
        plain.sendall(LINE)
        with trust.wrap_socket(plain, server_hostname="127.0.0.1") as peer:
            peer.sendall(CALL)
            assert b'"hi"' in read_all(peer)
        until(lambda: gateway.clients() == ["192.0.2.7"])
        answer = send(gateway.port, LINE + CALL)
        assert answer.startswith(b"HTTP/1.1 400 ")
        error = json.loads(answer.partition(b"\r\n\r\n")[2])["error"]
        assert error["message"] == "this port speaks HTTPS, and the request is plain HTTP; use https://"
        assert gateway.stop() == 0
