"""The server over TLS: the same answers, and peers that do not speak it hold nothing up."""

import contextlib
import socket
import ssl
from pathlib import Path

import pytest

from antiphon.transport.listeners import tcp_listener
from antiphon.transport.server import HttpServer, Request, Responder, ServerLimits
from antiphon.transport.tls import server_context
from tests.integration.transport.certificates import Authority
from tests.integration.transport.loop_thread import LoopThread

PLAIN = ((b"content-type", b"text/plain"),)


def echo(request: Request, responder: Responder) -> None:
    if request.target == b"/stream":
        responder.start(200, PLAIN, b"one ")
        responder.write(b"x" * 500_000)
        responder.end(b" three")
    else:
        responder.send(200, PLAIN, b"%s %s" % (request.target, request.body))


class Served:
    """A server under TLS, and peers that trust it."""

    def __init__(self, loop: LoopThread, folder: Path) -> None:
        authority = Authority(folder)
        self.trust = ssl.create_default_context(cafile=str(authority.file))
        cert, key = authority.issue("localhost")
        listener = tcp_listener("127.0.0.1", 0)
        self.port = listener.getsockname()[1]

        async def start() -> HttpServer:
            server = HttpServer(echo, ServerLimits(header_timeout=0.5, max_header_bytes=4000))
            await server.listen(listener, server_context(str(cert), str(key)))
            return server

        self.server = loop.run(start())

    def peer(self) -> ssl.SSLSocket:
        return self.trust.wrap_socket(socket.create_connection(("127.0.0.1", self.port), 10), server_hostname="localhost")


@pytest.fixture
def served(loop: LoopThread, tmp_path: Path):
    served = Served(loop, tmp_path)
    yield served
    loop.run(served.server.close())


def read_to_end(peer: socket.socket) -> bytes:
    pieces = []
    while piece := peer.recv(65536):
        pieces.append(piece)
    return b"".join(pieces)


def test_requests_are_answered_over_one_connection(served: Served) -> None:
    with served.peer() as peer:
        assert peer.version() in ("TLSv1.2", "TLSv1.3")
        for _ in range(2):
            peer.sendall(b"POST /a HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\nhi")
            assert b"/a hi" in peer.recv(65536)
        peer.sendall(b"GET /stream HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        answer = read_to_end(peer)
        assert answer.count(b"x" * 1000)
        assert answer.endswith(b" three\r\n0\r\n\r\n")


def test_alpn_says_http_1_1(served: Served) -> None:
    served.trust.set_alpn_protocols(["h2", "http/1.1"])
    with served.peer() as peer:
        assert peer.selected_alpn_protocol() == "http/1.1"


def test_what_is_refused_is_answered_and_closed(served: Served) -> None:
    with served.peer() as peer:
        peer.sendall(b"nonsense\r\n\r\n")
        assert read_to_end(peer).startswith(b"HTTP/1.1 400 ")
    with served.peer() as peer:
        peer.sendall(b"GET / HTTP/1.1\r\nhost: a\r\nx: " + b"y" * 5000)
        assert read_to_end(peer).startswith(b"HTTP/1.1 431 ")


@pytest.mark.parametrize("said", [b"GET / HTTP/1.1\r\nhost: a\r\n\r\n", b"", b"\x16\x03\x01"])
def test_who_speaks_no_tls_is_closed(served: Served, said: bytes) -> None:
    with socket.create_connection(("127.0.0.1", served.port), 10) as peer:
        peer.sendall(said)
        with contextlib.suppress(ConnectionResetError):
            assert b"HTTP" not in read_to_end(peer)
    with served.peer() as peer:
        peer.sendall(b"GET /b HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert b"/b" in peer.recv(65536)


def test_old_versions_are_not_spoken(served: Served) -> None:
    served.trust.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    with pytest.warns(DeprecationWarning, match="TLSv1_1 is deprecated"):
        served.trust.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises(OSError), served.peer():  # noqa: PT011 - which error it is depends on the version of OpenSSL
        pass
