"""Requests that the echo cannot make sense of still get an answer, and answers are not held back on the way."""

import http.client
import socket
from pathlib import Path

import pytest

from antiphon.testing import MockUpstream


@pytest.mark.parametrize(
    "body",
    [
        b'{"n": "2"}',
        b'{"n": 1.5}',
        b'{"n": -1}',
        b'{"n": 1000000000}',
        b'{"stream_options": 1, "stream": true}',
        b"\xff",
        b"[" * 100_000,
        b'{"messages": ' + b"[" * 100_000,
    ],
)
def test_a_request_that_cannot_be_echoed_is_answered_with_400(body):
    with MockUpstream() as upstream:
        connection = http.client.HTTPConnection("127.0.0.1", upstream.port, timeout=5)
        connection.request("POST", "/v1/chat/completions", body)
        response = connection.getresponse()
        assert response.status == 400
        assert b"message" in response.read()
        connection.close()


def test_answers_are_sent_without_delay(monkeypatch):
    options = []
    plain = socket.socket.setsockopt

    class Watched(socket.socket):
        def setsockopt(self, *arguments):
            options.append(arguments)
            plain(self, *arguments)

    monkeypatch.setattr(socket, "socket", Watched)
    with MockUpstream() as upstream:
        connection = http.client.HTTPConnection("127.0.0.1", upstream.port, timeout=5)
        connection.request("GET", "/v1/models")
        assert connection.getresponse().read()
        connection.close()
    assert options.count((socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)) >= 2


def test_on_a_unix_socket(tmp_path: Path):
    with MockUpstream(str(tmp_path / "s")) as upstream, socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(5)
        peer.connect(upstream.socket_path)
        peer.sendall(b"GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n")
        assert peer.recv(4096).startswith(b"HTTP/1.1 200")
