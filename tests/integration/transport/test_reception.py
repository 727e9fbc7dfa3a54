"""Before HTTP: what a load balancer says of its client, and HTTP where TLS is spoken."""

import asyncio
import contextlib
import ipaddress
import logging
import socket
import ssl
import struct
from pathlib import Path

import pytest

from antiphon.transport.listeners import tcp_listener
from antiphon.transport.proxy_protocol import ProxyRules
from antiphon.transport.reception import Reception, Refusals, listen
from antiphon.transport.server import HttpServer, Request, Responder, ServerLimits
from antiphon.transport.tls import server_context
from tests.fuzz.proxy_headers import BAD, HEADERS, IPV4, binary
from tests.integration.transport.certificates import Authority
from tests.integration.transport.loop_thread import LoopThread

LINE = b"PROXY TCP4 192.0.2.7 198.51.100.1 56324 443\r\n"
GET = b"GET /a HTTP/1.1\r\nhost: localhost\r\nx-forwarded-for: 1.1.1.1\r\n\r\n"
LAST = b"GET /b HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
HERE = ipaddress.ip_network("127.0.0.1")


def rules(*versions: int, trusted: ipaddress.IPv4Network | ipaddress.IPv6Network = HERE) -> ProxyRules:
    return ProxyRules(frozenset(versions or (1, 2)), (trusted,))


def echo(request: Request, responder: Responder) -> None:
    responder.send(200, (), b"%s for %s" % (request.target, request.header(b"x-forwarded-for")))


class Served:
    """A server with a reception."""

    def __init__(self, loop: LoopThread, proxies: ProxyRules | None, tls: ssl.SSLContext | None = None) -> None:
        listener = tcp_listener("127.0.0.1", 0)
        self.port = listener.getsockname()[1]
        self.loop = loop

        async def start() -> tuple[HttpServer, Reception]:
            server = HttpServer(echo, ServerLimits(header_timeout=0.5))
            reception = await listen(server, listener, tls, proxies)
            assert isinstance(reception, Reception)
            return server, reception

        self.server, self.reception = loop.run(start())
        loop.servers.append(self.server)

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), 10)

    def ask(self, *pieces: bytes) -> bytes:
        """Everything that is answered to these bytes, each of which goes out by itself."""
        with self.connect() as peer:
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with contextlib.suppress(ConnectionError):
                for piece in pieces:
                    peer.sendall(piece)
            return read_all(peer)


def read_all(peer: socket.socket) -> bytes:
    data = b""
    while True:
        try:
            piece = peer.recv(65536)
        except ConnectionResetError:
            return data
        if not piece:
            return data
        data += piece


@pytest.mark.parametrize("header", HEADERS)
def test_the_client_is_known_however_the_header_comes(loop: LoopThread, header: bytes) -> None:
    served = Served(loop, rules())
    client = (HEADERS[header] or "127.0.0.1").encode()
    for pieces in (
        [header + GET + LAST],
        [header, GET, LAST],
        [header[: len(header) // 2], header[len(header) // 2 :] + GET[:9], GET[9:] + LAST],
        [bytes((byte,)) for byte in header + GET + LAST],
    ):
        answer = served.ask(*pieces)
        assert b"/a for %b" % client in answer
        assert answer.endswith(b"/b for %b" % client)
    assert not served.reception.refusals.counts


@pytest.mark.parametrize("data", BAD)
def test_a_connection_that_begins_with_anything_else_is_closed(loop: LoopThread, data: bytes) -> None:
    served = Served(loop, rules())
    assert served.ask(data, GET) == b""
    assert sum(served.reception.refusals.counts.values()) == 1


def test_only_the_versions_asked_for_are_taken(loop: LoopThread) -> None:
    one, two = Served(loop, rules(1)), Served(loop, rules(2))
    assert b"192.0.2.7" in one.ask(LINE + LAST)
    assert one.ask(binary(0x21, 0x11, IPV4) + LAST) == b""
    assert b"192.0.2.7" in two.ask(binary(0x21, 0x11, IPV4) + LAST)
    assert two.ask(LINE + LAST) == b""


def test_who_is_not_trusted_is_not_heard(loop: LoopThread, caplog: pytest.LogCaptureFixture) -> None:
    served = Served(loop, rules(trusted=ipaddress.ip_network("10.0.0.0/8")))
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert served.ask(LINE + LAST) == b""
    assert served.reception.refusals.counts == {"it is not among server.trusted_proxies": 3}
    assert served.reception.refusals.kinds["untrusted"] == 3
    assert [record.getMessage() for record in caplog.records] == [
        "a connection from 127.0.0.1 is closed: it is not among server.trusted_proxies"
    ]
    served.reception.proxies = rules()
    assert b"192.0.2.7" in served.ask(LINE + LAST)


@pytest.mark.parametrize("begun", [b"", LINE[:20], binary(0x21, 0x11, IPV4)[:17]])
def test_a_header_that_does_not_come_in_time_ends_the_connection(loop: LoopThread, begun: bytes) -> None:
    served = Served(loop, rules())
    assert served.ask(begun) == b""
    assert served.reception.refusals.counts == {"its PROXY header did not come in time": 1}
    assert served.reception.refusals.kinds["timeout"] == 1
    loop.until(lambda: not served.server.arriving)


def test_a_load_balancer_that_looks_whether_anybody_is_there_is_no_reason_to_warn(loop: LoopThread) -> None:
    served = Served(loop, rules())
    served.connect().close()
    with served.connect() as peer:
        peer.sendall(LINE[:10])
        peer.shutdown(socket.SHUT_WR)
        assert read_all(peer) == b""
    with served.connect() as peer:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        peer.sendall(LINE[:10])
    loop.until(lambda: not served.server.arriving)
    assert served.reception.refusals.counts == {"it ended before its PROXY header was complete": 1}
    assert served.reception.refusals.kinds["incomplete"] == 1
    assert b"192.0.2.7" in served.ask(LINE + LAST)


def test_many_at_once(loop: LoopThread) -> None:
    served = Served(loop, rules())
    peers = [served.connect() for _ in range(300)]
    for peer in peers:
        peer.sendall(LINE[:7])
    for peer in peers:
        peer.sendall(LINE[7:] + LAST)
    assert all(read_all(peer).endswith(b"/b for 192.0.2.7") for peer in peers)
    for peer in peers:
        peer.close()
    loop.until(lambda: not served.server.connections)


def test_a_draining_server_answers_who_has_come_already(loop: LoopThread) -> None:
    served = Served(loop, rules())
    with served.connect() as peer:
        peer.sendall(LINE[:7])
        loop.until(lambda: bool(served.server.arriving))
        drained = asyncio.run_coroutine_threadsafe(served.server.drain(5.0), loop.loop)
        loop.until(lambda: served.server.draining)
        peer.sendall(LINE[7:] + GET)
        assert b"connection: close" in read_all(peer)
        drained.result(20)
    with pytest.raises(OSError, match="refused"):
        served.connect()


def test_a_draining_server_waits_for_a_handshake_and_a_closed_one_for_none(loop: LoopThread, secured: "Secured") -> None:
    served = Served(loop, None, secured.context)
    with served.connect() as peer:
        peer.sendall(b"\x16\x03\x01")
        loop.until(lambda: bool(served.server.arriving))
        loop.run(served.server.drain(0.1))
        assert read_all(peer) == b""
    loop.until(lambda: not served.server.arriving)


def test_without_tls_and_proxies_there_is_no_reception(loop: LoopThread) -> None:
    listener = tcp_listener("127.0.0.1", 0)

    async def start() -> HttpServer:
        server = HttpServer(echo)
        assert not isinstance(await listen(server, listener, None, None), Reception)
        return server

    loop.servers.append(loop.run(start()))


class Secured:
    def __init__(self, folder: Path) -> None:
        authority = Authority(folder)
        self.trust = ssl.create_default_context(cafile=str(authority.file))
        cert, key = authority.issue("localhost")
        self.context = server_context(str(cert), str(key))

    def ask(self, served: Served, ahead: bytes = b"") -> bytes:
        plain = served.connect()
        plain.sendall(ahead)
        with self.trust.wrap_socket(plain, server_hostname="localhost") as peer:
            peer.sendall(GET + LAST)
            return read_all(peer)


@pytest.fixture
def secured(tmp_path: Path) -> Secured:
    return Secured(tmp_path)


@pytest.mark.parametrize("header", [LINE, binary(0x21, 0x11, IPV4)])
def test_the_header_comes_before_tls(loop: LoopThread, secured: Secured, header: bytes) -> None:
    served = Served(loop, rules(), secured.context)
    assert secured.ask(served, header).endswith(b"/b for 192.0.2.7")
    assert b"speaks HTTPS" in served.ask(header + GET)
    assert served.ask(GET) == b""


def test_plain_http_on_a_port_of_tls_is_told_so(loop: LoopThread, secured: Secured) -> None:
    served = Served(loop, None, secured.context)
    answer = served.ask(GET)
    assert answer.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert b"connection: close" in answer
    assert b"https://" in answer
    assert served.ask(b"P", b"OST / HTTP/1.1\r\n" + b"x" * 100_000).startswith(b"HTTP/1.1 400 ")
    assert b"HTTP" not in served.ask(b"\x00nonsense")
    assert secured.ask(served).endswith(b"/b for ")
    loop.until(lambda: not served.server.connections)


@pytest.mark.parametrize("spoken", [b"", b"\x16\x03\x01"])
def test_who_says_nothing_on_a_port_of_tls_is_not_waited_for(loop: LoopThread, secured: Secured, spoken: bytes) -> None:
    served = Served(loop, None, secured.context)
    assert served.ask(spoken) == b""
    loop.until(lambda: not served.server.arriving)


def test_refusals_are_told_once_a_minute_with_their_number(caplog: pytest.LogCaptureFixture) -> None:
    refusals = Refusals()
    with caplog.at_level(logging.WARNING):
        for now in (0.0, 1.0, 2.0, 59.0, 60.0, 61.0, 200.0):
            refusals.add("192.0.2.7", "malformed", "it is odd", now)
    assert refusals.counts == {"it is odd": 7}
    assert refusals.kinds == {"untrusted": 0, "malformed": 7, "incomplete": 0, "timeout": 0}
    assert [record.getMessage() for record in caplog.records] == [
        "a connection from 192.0.2.7 is closed: it is odd",
        "a connection from 192.0.2.7 is closed: it is odd (4 of them since the last such line)",
        "a connection from 192.0.2.7 is closed: it is odd (2 of them since the last such line)",
    ]
