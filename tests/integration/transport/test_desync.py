"""Requests that two servers in a chain could read differently are refused; those that only look so are served."""

import itertools

import pytest

from antiphon.transport.server import Request, Responder
from tests.fuzz.corpus import AFTER, DESYNC, TOLERATED, VALID
from tests.integration.transport.loop_thread import LoopThread

LAST = b"GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"


class Recording:
    """A handler that remembers what it was asked."""

    def __init__(self) -> None:
        self.requests: list[Request] = []

    def __call__(self, request: Request, responder: Responder) -> None:
        self.requests.append(request)
        responder.send(200, ((b"content-type", b"text/plain"),), b"[%b]" % request.body)


def pieces(data: bytes, cut: int) -> list[bytes]:
    return [data[a:b] for a, b in itertools.pairwise(range(0, len(data) + cut, cut))]


@pytest.mark.parametrize("cut", [100_000, 1], ids=["whole", "byte by byte"])
@pytest.mark.parametrize("sent", DESYNC.values(), ids=DESYNC)
def test_refused_with_all_that_follows(loop: LoopThread, sent: bytes, cut: int) -> None:
    seen = Recording()
    server, port = loop.serve(seen)
    peer = loop.peer(port)
    for piece in pieces(sent + AFTER, cut):
        try:
            peer.send(piece)
        except ConnectionError:
            break
    answer = peer.read_all()
    assert [request.target for request in seen.requests] == []
    assert answer.startswith(b"HTTP/1.1 4"), answer
    assert answer.count(b"HTTP/1.1 ") == 1
    assert b"\r\nconnection: close\r\n" in answer
    peer.close()
    loop.until(lambda: not server.connections)


@pytest.mark.parametrize("cut", [100_000, 1], ids=["whole", "byte by byte"])
@pytest.mark.parametrize(("name", "sent"), VALID.items(), ids=VALID)
def test_served(loop: LoopThread, name: str, sent: bytes, cut: int) -> None:
    seen = Recording()
    _, port = loop.serve(seen)
    peer = loop.peer(port)
    kept = not (b"HTTP/1.0" in sent or b"\nConnection: close" in sent.partition(b"\r\n\r\n")[0]) or b"keep-alive" in sent
    for piece in pieces(sent + (LAST if kept else b""), cut):
        peer.send(piece)
    answer = peer.read_all()
    count = (3 if name == "pipelined" else 1) + kept
    assert answer.count(b"HTTP/1.1 200 OK\r\n") == count, answer
    assert len(seen.requests) == count
    first = seen.requests[0]
    assert first.target.partition(b"call")[1] == b"call" or first.target == b"*"
    assert first.body in (b"", b"hello", b"0123456789")
    assert (first.body != b"") == (b"hello" in sent or b"0123456789" in sent)
    if kept:
        assert seen.requests[-1].target == b"/last"


def test_what_came_before_is_answered_and_then_the_refusal(loop: LoopThread) -> None:
    seen = Recording()
    _, port = loop.serve(seen)
    good = b"GET /good HTTP/1.1\r\nHost: a\r\n\r\n"
    answer = loop.peer(port).send(good + good + DESYNC["CL.TE"] + AFTER).read_all()
    assert [request.target for request in seen.requests] == [b"/good", b"/good"]
    assert [part[:3] for part in answer.split(b"HTTP/1.1 ")[1:]] == [b"200", b"200", b"400"]


def test_what_follows_connection_close_is_never_read(loop: LoopThread) -> None:
    seen = Recording()
    _, port = loop.serve(seen)
    answer = loop.peer(port).send(LAST + AFTER).read_all()
    assert [request.target for request in seen.requests] == [b"/last"]
    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize("sent", TOLERATED.values(), ids=TOLERATED)
def test_what_is_tolerated_begins_and_ends_where_it_should(loop: LoopThread, sent: bytes) -> None:
    seen = Recording()
    _, port = loop.serve(seen)
    assert loop.peer(port).send(sent).read_until(b"[]").startswith(b"HTTP/1.1 200")
    loop.peer(port).send(VALID["GET"] + sent + LAST).read_all()
    assert {request.target for request in seen.requests} <= {b"/call", b"/last"}
