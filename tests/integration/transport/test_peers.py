"""The HTTP server and peers that are slow, greedy, half gone or old-fashioned."""

import contextlib
import socket
import threading
import time
from functools import partial

import pytest

from antiphon.transport.server import Request, Responder, ServerLimits
from tests.integration.transport.loop_thread import LoopThread, Peer

PLAIN = ((b"content-type", b"text/plain"),)
GET = b"GET /%b HTTP/1.1\r\nhost: a\r\n\r\n"
CHUNKED = b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n"


def echo(request: Request, responder: Responder) -> None:
    responder.send(200, PLAIN, b"<%b>" % (request.body or request.target))


class Holding:
    """Keeps requests until it is told to answer them, the latest in hand first."""

    def __init__(self) -> None:
        self.held: list[tuple[Request, Responder]] = []
        self.seen: list[bytes] = []
        self.left = threading.Event()

    def __call__(self, request: Request, responder: Responder) -> None:
        responder.listener = self
        self.held.append((request, responder))
        self.seen.append(request.target)

    def has_seen(self, count: int) -> bool:
        return len(self.seen) == count

    def answer(self) -> None:
        echo(*self.held.pop())

    def gone(self) -> None:
        self.left.set()

    def pause(self) -> None: ...

    def resume(self) -> None: ...


def flood(peer: Peer, data: bytes, times: int) -> None:
    """Send without reading, until the server takes no more or has gone."""
    peer.sock.settimeout(0.5)
    with contextlib.suppress(OSError):
        for _ in range(times):
            peer.sock.sendall(data)
    peer.sock.settimeout(10)


# -- pipelining


def test_what_arrives_as_an_answer_ends_is_not_served_before_what_waits(loop: LoopThread) -> None:
    holding = Holding()
    server, port = loop.serve(holding)
    peer = loop.peer(port).send(GET % b"1" + GET % b"2")
    loop.until(lambda: len(holding.held) == 1)
    connection = next(iter(server.connections))
    loop.until(lambda: len(connection._backlog) == 1)

    def meet() -> None:
        holding.answer()
        connection.data_received(GET % b"3")

    loop.loop.call_soon_threadsafe(meet)
    for count in (2, 3):
        loop.until(partial(holding.has_seen, count))
        loop.loop.call_soon_threadsafe(holding.answer)
    assert peer.read_until(b"</3>").count(b"HTTP/1.1 200") == 3
    assert holding.seen == [b"/1", b"/2", b"/3"]


def test_bodies_that_wait_their_turn_are_bounded(loop: LoopThread) -> None:
    holding = Holding()
    server, port = loop.serve(holding)
    request = b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 900000\r\n\r\n" + b"x" * 900_000
    flood(loop.peer(port), request, 30)
    connection = next(iter(server.connections))
    assert sum(len(waiting.body) for waiting, _ in connection._backlog) < 3_000_000
    assert sum(map(len, connection._body)) < 1_000_000


def test_who_asks_on_and_on_without_reading_is_not_read_any_more(loop: LoopThread) -> None:
    def big(request: Request, responder: Responder) -> None:
        responder.send(200, PLAIN, b"z" * 100_000)

    server, port = loop.serve(big, ServerLimits(write_buffer=65536))
    peer = loop.peer(port)
    flood(peer, GET % b"" * 100, 2000)
    connection = next(iter(server.connections))
    assert connection._transport.get_write_buffer_size() < 400_000
    assert len(connection._backlog) < 10_000  # what one read can bring
    assert b"HTTP/1.1 200" in peer.sock.recv(65536)


# -- Expect: 100-continue (RFC 9110, section 10.1.1)

UPLOAD = b"POST /up HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: %d\r\n\r\n"


def test_expect_behind_another_request_is_answered_in_its_turn(loop: LoopThread) -> None:
    holding = Holding()
    _, port = loop.serve(holding)
    peer = loop.peer(port).send(GET % b"1" + UPLOAD % 2)
    loop.until(lambda: len(holding.held) == 1)
    loop.loop.call_soon_threadsafe(holding.answer)
    answer = peer.read_until(b"100 Continue\r\n\r\n")
    assert answer.index(b"</1>") < answer.index(b"HTTP/1.1 100")
    peer.send(b"hi")
    loop.until(lambda: len(holding.held) == 1)
    loop.loop.call_soon_threadsafe(holding.answer)
    assert peer.read_until(b"<hi>").count(b"HTTP/1.1") == 1


def test_expect_with_a_body_that_is_too_large_is_refused_and_not_invited(loop: LoopThread) -> None:
    _, port = loop.serve(echo, ServerLimits(max_body_bytes=1000))
    assert loop.peer(port).send(UPLOAD % 1001).read_all().startswith(b"HTTP/1.1 413")


def test_expect_of_http_1_0_is_not_heard(loop: LoopThread) -> None:
    _, port = loop.serve(echo)
    peer = loop.peer(port).send(b"POST / HTTP/1.0\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n")
    server_side_has_seen_the_head(loop)
    answer = peer.send(b"hi").read_all()
    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.endswith(b"<hi>")


def server_side_has_seen_the_head(loop: LoopThread) -> None:
    loop.until(lambda: any(not c._in_head for server in loop.servers for c in list(server.connections)))


# -- keeping and closing


@pytest.mark.parametrize(
    ("head", "kept"),
    [
        (b"GET / HTTP/1.0\r\n\r\n", False),
        (b"GET / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n", True),
        (b"GET / HTTP/1.0\r\nconnection: close\r\n\r\n", False),
        (b"GET / HTTP/1.1\r\nhost: a\r\n\r\n", True),
        (b"GET / HTTP/1.1\r\nhost: a\r\nconnection: Close\r\n\r\n", False),
        (b"GET / HTTP/1.1\r\nhost: a\r\nconnection: x, close\r\n\r\n", False),
        (b"GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade, close\r\nupgrade: h2c\r\n\r\n", False),
        (b"GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n", True),
    ],
)
def test_kept_or_closed(loop: LoopThread, head: bytes, kept: bool) -> None:
    server, port = loop.serve(echo)
    peer = loop.peer(port).send(head)
    answer = peer.read_until(b"</>")
    assert (b"connection: close" in answer) is not kept
    if kept:
        assert peer.send(head).read_until(b"</>").endswith(b"</>")
    else:
        assert peer.read_all() == b""
        peer.close()
        loop.until(lambda: not server.connections)


def test_what_comes_behind_an_answer_that_ends_with_the_connection_is_not_begun(loop: LoopThread) -> None:
    seen: list[bytes] = []

    def stream(request: Request, responder: Responder) -> None:
        seen.append(request.target)
        responder.start(200, PLAIN, b"until the end")
        responder.end()

    _, port = loop.serve(stream)
    answer = loop.peer(port).send(b"GET /1 HTTP/1.0\r\nconnection: keep-alive\r\n\r\n" + GET % b"2").read_all()
    assert answer.endswith(b"until the end")
    assert seen == [b"/1"]


def test_a_peer_that_closes_its_half_has_left(loop: LoopThread) -> None:
    holding = Holding()
    server, port = loop.serve(holding)
    peer = loop.peer(port).send(GET % b"1")
    loop.until(lambda: len(holding.held) == 1)
    peer.sock.shutdown(socket.SHUT_WR)
    assert holding.left.wait(5)
    assert peer.read_all() == b""
    loop.until(lambda: not server.connections)


def test_a_peer_that_closes_its_half_gets_what_was_answered_at_once(loop: LoopThread) -> None:
    _, port = loop.serve(echo)
    peer = loop.peer(port).send(GET % b"1")
    peer.sock.shutdown(socket.SHUT_WR)
    assert peer.read_all().endswith(b"</1>")


def test_a_half_closed_peer_in_the_middle_of_a_body_is_forgotten(loop: LoopThread) -> None:
    server, port = loop.serve(echo)
    peer = loop.peer(port).send(UPLOAD % 10)
    peer.read_until(b"\r\n\r\n")
    peer.sock.shutdown(socket.SHUT_WR)
    assert peer.read_all() == b""
    loop.until(lambda: not server.connections)


def test_whoever_is_refused_in_the_middle_of_an_upload_can_read_why(loop: LoopThread) -> None:
    server, port = loop.serve(echo, ServerLimits(max_body_bytes=1000))
    peer = loop.peer(port).send(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 20000000\r\n\r\n")
    flood(peer, b"x" * 100_000, 100)
    assert peer.read_all().startswith(b"HTTP/1.1 413")
    peer.close()
    loop.until(lambda: not server.connections)


def test_a_refused_peer_that_stays_is_cut(loop: LoopThread) -> None:
    server, port = loop.serve(echo)
    peer = loop.peer(port).send(b"nonsense\r\n\r\n")
    assert peer.read_all().startswith(b"HTTP/1.1 400")
    loop.until(lambda: not server.connections)


# -- slow peers


def test_a_body_that_stops_times_out(loop: LoopThread) -> None:
    _, port = loop.serve(echo, ServerLimits(body_timeout=0.3))
    assert loop.peer(port).send(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nx").read_all().startswith(b"HTTP/1.1 408")


def test_a_body_that_trickles_in_is_waited_for(loop: LoopThread) -> None:
    _, port = loop.serve(echo, ServerLimits(body_timeout=1.0, header_timeout=0.4, keep_alive=0.4))
    peer = loop.peer(port).send(GET % b"1" + b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 8\r\n\r\n")
    for _ in range(8):
        time.sleep(0.2)  # the peer is slow: that is what is tested
        peer.send(b"x")
    assert peer.read_until(b"<xxxxxxxx>").endswith(b"<xxxxxxxx>")


@pytest.mark.parametrize("begun", [b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 8\r\n\r\n", b"GET / HT"])
def test_what_stops_behind_another_request_times_out(loop: LoopThread, begun: bytes) -> None:
    _, port = loop.serve(echo, ServerLimits(body_timeout=0.3, header_timeout=0.3, keep_alive=0.4))
    answer = loop.peer(port).send(GET % b"1" + begun).read_all()
    assert answer.startswith(b"HTTP/1.1 200")
    assert b"HTTP/1.1 408" in answer


def test_a_reader_that_stops_is_cut(loop: LoopThread) -> None:
    holding = Holding()
    server, port = loop.serve(holding, ServerLimits(write_buffer=65536, write_timeout=0.3))
    loop.peer(port).send(GET % b"")
    loop.until(lambda: len(holding.held) == 1)
    responder = holding.held[0][1]
    loop.loop.call_soon_threadsafe(responder.start, 200, PLAIN, b"z" * 20_000_000)
    assert holding.left.wait(5)
    loop.until(lambda: not server.connections)


def test_a_reader_that_stops_before_the_last_bytes_of_a_closed_connection_is_cut(loop: LoopThread) -> None:
    def big(request: Request, responder: Responder) -> None:
        responder.send(200, PLAIN, b"z" * 20_000_000)

    server, port = loop.serve(big, ServerLimits(write_buffer=100_000_000, write_timeout=0.3))
    peer = loop.peer(port).send(b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
    peer.read_until(b"zz")
    loop.until(lambda: not server.connections)


# -- without end


@pytest.mark.parametrize(
    ("head", "more"),
    [
        (CHUNKED + b"0\r\nx: ", b"y" * 1000),
        (CHUNKED + b"0\r\n", b"y" * 1000),
        (CHUNKED + b"2;", b"y" * 1000),
        (b"GET / HTTP/1.1\r\nhost: a\r\nx: ", b"y" * 1000),
        (b"GET /", b"y" * 1000),
        (b"", b"\r\n" * 500),
        (GET % b"1" + CHUNKED + b"0\r\nx: ", b"y" * 1000),
        (GET % b"1" + b"GET /", b"y" * 1000),
    ],
    ids=["trailer", "trailer's name", "chunk extension", "header", "target", "empty lines", "second trailer", "second target"],
)
def test_what_never_ends_is_refused(loop: LoopThread, head: bytes, more: bytes) -> None:
    server, port = loop.serve(echo, ServerLimits(max_header_bytes=20_000))
    peer = loop.peer(port).send(head)
    with contextlib.suppress(ConnectionError):
        for _ in range(2000):
            peer.send(more)
    assert b"HTTP/1.1 431" in peer.read_all()
    loop.until(lambda: not server.connections)
