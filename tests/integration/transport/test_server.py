"""The HTTP server against real sockets, well-behaved and not."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable

import pytest

from antiphon.transport.listeners import tcp_listener
from antiphon.transport.server import HttpServer, Request, Responder, ServerLimits
from tests.integration.transport.loop_thread import LoopThread

PLAIN = ((b"content-type", b"text/plain"),)


def echo(request: Request, responder: Responder) -> None:
    """Answers with what it got."""
    responder.send(200, PLAIN, b"%s %s %s" % (request.method.encode(), request.target, request.body))


def stream(request: Request, responder: Responder) -> None:
    responder.start(200, PLAIN, b"one ")
    responder.write(b"two ")
    responder.end(b"three")


class Holding:
    """A handler that keeps its responders, and hears of their peers."""

    def __init__(self) -> None:
        self.responders: list[Responder] = []
        self.heard: list[str] = []
        self.changed = threading.Condition()

    def __call__(self, request: Request, responder: Responder) -> None:
        responder.listener = self
        with self.changed:
            self.responders.append(responder)
            self.changed.notify_all()

    def gone(self) -> None:
        self._hear("gone")

    def pause(self) -> None:
        self._hear("pause")

    def resume(self) -> None:
        self._hear("resume")

    def _hear(self, what: str) -> None:
        with self.changed:
            self.heard.append(what)
            self.changed.notify_all()

    def wait(self, what: str) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: what in self.heard, 10), self.heard

    def wait_requests(self, count: int) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.responders) >= count, 10)


def test_keep_alive_serves_many_requests(loop: LoopThread) -> None:
    _, port = loop.serve(echo)
    peer = loop.peer(port)
    for i in range(3):
        answer = peer.send(b"POST /x%d?q HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nhi" % i).read_until(b" hi")
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
        assert answer.endswith(b"\r\n\r\nPOST /x%d?q hi" % i)


def test_a_request_cut_into_bytes(loop: LoopThread) -> None:
    _, port = loop.serve(echo)
    peer = loop.peer(port)
    for byte in b"POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nhi":
        peer.send(bytes([byte]))
    assert peer.read_until(b" hi").endswith(b"POST /x hi")


def test_a_chunked_request(loop: LoopThread) -> None:
    _, port = loop.serve(echo)
    answer = (
        loop.peer(port)
        .send(b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n")
        .read_until(b"abcde")
    )
    assert answer.endswith(b"POST / abcde")


def test_pipelined_requests_are_answered_in_order(loop: LoopThread) -> None:
    _, port = loop.serve(echo)
    requests = b"".join(b"GET /%d HTTP/1.1\r\nhost: a\r\n\r\n" % i for i in range(100))
    answer = loop.peer(port).send(requests + b"GET /last HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").read_all()
    assert [part.split(b" ")[0] for part in answer.split(b"GET /")[1:]] == [
        *(b"%d" % i for i in range(100)),
        b"last",
    ]


def test_a_streamed_response_is_chunked(loop: LoopThread) -> None:
    _, port = loop.serve(stream)
    answer = loop.peer(port).send(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").read_until(b"0\r\n\r\n")
    assert b"transfer-encoding: chunked" in answer
    assert answer.endswith(b"4\r\none \r\n4\r\ntwo \r\n5\r\nthree\r\n0\r\n\r\n")


def test_http_1_0_ends_a_stream_by_closing(loop: LoopThread) -> None:
    _, port = loop.serve(stream)
    answer = loop.peer(port).send(b"GET / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n").read_all()
    assert b"chunked" not in answer
    assert answer.endswith(b"\r\n\r\none two three")


def test_head_has_no_body(loop: LoopThread) -> None:
    _, port = loop.serve(echo)
    answer = loop.peer(port).send(b"HEAD /x HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").read_all()
    assert b"content-length: 8\r\n" in answer
    assert answer.endswith(b"\r\n\r\n")


def test_expect_100_continue(loop: LoopThread) -> None:
    _, port = loop.serve(echo)
    peer = loop.peer(port).send(b"POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\nexpect: 100-continue\r\n\r\n")
    assert peer.read_until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert peer.send(b"hi").read_until(b" hi").endswith(b"POST /x hi")


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nhost: a\r\nx: " + b"y" * 3000 + b"\r\n\r\n", b"431"),
        (b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5000\r\n\r\n", b"413"),
        (b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 99999999999999999999\r\n\r\n", b"4"),
        (
            b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n"
            b"400\r\n" + b"z" * 1024 + b"\r\n400\r\n" + b"z" * 1024 + b"\r\n",
            b"413",
        ),
    ],
)
def test_what_is_refused(loop: LoopThread, sent: bytes, status: bytes) -> None:
    _, port = loop.serve(echo, ServerLimits(max_header_bytes=2000, max_body_bytes=1500))
    answer = loop.peer(port).send(sent).read_all()
    assert answer.startswith(b"HTTP/1.1 " + status), answer
    assert answer.count(b"HTTP/1.1") == 1
    assert b"connection: close" in answer


def test_a_slow_head_times_out(loop: LoopThread) -> None:
    _, port = loop.serve(echo, ServerLimits(header_timeout=0.3))
    assert loop.peer(port).send(b"GET / HTT").read_all().startswith(b"HTTP/1.1 408")


def test_a_silent_connection_is_closed(loop: LoopThread) -> None:
    _, port = loop.serve(echo, ServerLimits(header_timeout=0.3, keep_alive=0.3))
    assert loop.peer(port).read_all() == b""
    answer = loop.peer(port).send(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").read_all()
    assert answer.endswith(b"GET / ")


def test_the_handler_hears_when_the_peer_leaves(loop: LoopThread) -> None:
    holding = Holding()
    _, port = loop.serve(holding)
    peer = loop.peer(port).send(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
    holding.wait_requests(1)
    peer.close()
    holding.wait("gone")
    assert holding.responders[0].closed
    loop.loop.call_soon_threadsafe(holding.responders[0].send, 200, PLAIN, b"late")


def test_a_slow_reader_pauses_the_answer(loop: LoopThread) -> None:
    holding = Holding()
    _, port = loop.serve(holding, ServerLimits(write_buffer=65536))
    peer = loop.peer(port).send(b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
    holding.wait_requests(1)
    responder = holding.responders[0]
    total = 0

    def write() -> None:
        responder.start(200, PLAIN)
        for _ in range(200):
            responder.write(b"z" * 65536)

    total = 200 * 65536
    loop.loop.call_soon_threadsafe(write)
    holding.wait("pause")
    loop.loop.call_soon_threadsafe(responder.end)
    assert peer.read_all().count(b"z") == total
    assert "gone" not in holding.heard


def test_abort_leaves_the_answer_visibly_broken(loop: LoopThread) -> None:
    holding = Holding()
    _, port = loop.serve(holding)
    peer = loop.peer(port).send(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
    holding.wait_requests(1)
    responder = holding.responders[0]
    loop.loop.call_soon_threadsafe(responder.start, 200, PLAIN, b"half")
    assert peer.read_until(b"half\r\n").endswith(b"4\r\nhalf\r\n")
    loop.loop.call_soon_threadsafe(responder.abort)
    assert b"0\r\n\r\n" not in peer.read_all()


def test_drain_finishes_what_runs_and_tells_idle_peers_to_close(loop: LoopThread) -> None:
    holding = Holding()
    server, port = loop.serve(holding)
    busy = loop.peer(port).send(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
    holding.wait_requests(1)
    idle = loop.peer(port)
    done = threading.Thread(target=lambda: loop.run(server.drain(10)))
    done.start()
    deadline = time.monotonic() + 5
    while not server.draining and time.monotonic() < deadline:
        time.sleep(0.005)
    loop.loop.call_soon_threadsafe(holding.responders[0].send, 200, PLAIN, b"finished")
    answer = busy.read_all()
    assert answer.endswith(b"finished")
    assert b"connection: close" in answer
    assert idle.read_all() == b""
    done.join(10)
    assert not done.is_alive()
    with pytest.raises(ConnectionRefusedError):
        loop.peer(port)


@pytest.mark.parametrize("turns", range(6))
def test_no_connection_is_lost_between_a_server_that_drains_and_the_next_on_its_socket(loop: LoopThread, turns: int) -> None:
    listener = tcp_listener("127.0.0.1", 0)
    port = listener.getsockname()[1]

    async def hand_over() -> None:
        leaving, coming = HttpServer(echo), HttpServer(echo)
        loop.servers += [leaving, coming]
        await leaving.listen(listener.dup())
        peer.send(b"GET /x HTTP/1.1\r\nhost: a\r\n\r\n")
        for _ in range(turns):  # it may be in the socket's queue, accepted, or served
            await asyncio.sleep(0)
        await leaving.drain(5)
        assert not leaving.connections  # the process may end now
        await coming.listen(listener)

    listener.listen()
    peer = loop.peer(port)
    loop.run(hand_over())
    assert peer.read_until(b"GET /x ").startswith(b"HTTP/1.1 200 OK")


def test_an_offer_to_upgrade_is_answered_in_http_1_1(loop: LoopThread) -> None:
    _, port = loop.serve(echo)
    answer = (
        loop.peer(port).send(b"GET /x HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n").read_until(b"GET /x ")
    )
    assert answer.startswith(b"HTTP/1.1 200 OK")


def test_an_upload_that_breaks_off_is_forgotten_at_once(loop: LoopThread) -> None:
    server, port = loop.serve(echo)
    peer = loop.peer(port).send(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9000000\r\n\r\n" + b"x" * 1_000_000)
    until(lambda: len(server.connections) == 1)
    connection = next(iter(server.connections))
    until(lambda: sum(map(len, connection._body)) == 1_000_000)
    peer.close()
    until(lambda: not server.connections)
    assert (connection._body, connection._parser) == ([], None)  # no cycle is left for the collector either


def test_trailers_are_bounded_and_cost_little(loop: LoopThread) -> None:
    _, port = loop.serve(echo, ServerLimits(max_body_bytes=100_000))
    head = b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n"
    assert loop.peer(port).send(head + b"x-sum: 1\r\n\r\n").read_until(b" hi").endswith(b"POST / hi")
    answer = loop.peer(port).send(head + b"a: b\r\n" * 100_000 + b"\r\n").read_all()
    assert answer.startswith(b"HTTP/1.1 4")


def test_too_many_headers_are_refused(loop: LoopThread) -> None:
    _, port = loop.serve(echo)
    answer = loop.peer(port).send(b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 4000 + b"\r\n").read_all()
    assert answer.startswith(b"HTTP/1.1 431")


@pytest.mark.parametrize("body", [b"content-length: 2\r\n\r\nhi", b"transfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"])
def test_an_offer_to_upgrade_leaves_the_body_in_its_place(loop: LoopThread, body: bytes) -> None:
    _, port = loop.serve(echo)
    offer = b"connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk\r\n"
    request = b"POST /x HTTP/1.1\r\nhost: a\r\n" + offer + body
    last = b"GET /last HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"
    answer = loop.peer(port).send(request * 300 + last).read_all()
    assert answer.count(b"POST /x hi") == 300
    assert answer.count(b"HTTP/1.1 200") == 301


def test_connect_is_refused(loop: LoopThread) -> None:
    _, port = loop.serve(echo)
    answer = loop.peer(port).send(b"CONNECT a:80 HTTP/1.1\r\nhost: a:80\r\n\r\n").read_all()
    assert answer.startswith(b"HTTP/1.1 400")


def test_a_head_that_trickles_in_times_out_all_the_same(loop: LoopThread) -> None:
    _, port = loop.serve(echo, ServerLimits(header_timeout=0.5))
    peer = loop.peer(port).send(b"GET / HTTP/1.1\r\nx: ")
    begun = time.monotonic()
    peer.sock.settimeout(0.1)
    answer = b""
    while not answer and time.monotonic() - begun < 10:
        with contextlib.suppress(TimeoutError, ConnectionError):
            peer.send(b"y")
            answer = peer.sock.recv(1000)
    assert answer.startswith(b"HTTP/1.1 408")


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)
