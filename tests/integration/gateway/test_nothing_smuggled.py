"""Requests with two readings reach no model: the worker refuses them before anything is forwarded."""

import socket
import time

from antiphon.testing import MockUpstream
from tests.fuzz.corpus import DESYNC
from tests.integration.gateway.conftest import Start

PATH = b"/v1/chat/completions"
BODY = b'{"model":"mock-model","messages":[{"role":"user","content":"smuggled"}]}'
SMUGGLED = b"POST " + PATH + b" HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%b" % (len(BODY), BODY)


def answer_to(port: int, sent: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as peer:
        peer.sendall(sent)
        answer = b""
        while piece := _read(peer):
            answer += piece
    return answer


def _read(peer: socket.socket) -> bytes:
    try:
        return peer.recv(65536)
    except ConnectionResetError:
        return b""


def test_no_form_of_it_is_forwarded(start: Start, upstream: MockUpstream) -> None:
    worker = start(upstream)
    for name, form in DESYNC.items():
        answer = answer_to(worker.port, form.replace(b"/call", PATH) + SMUGGLED)
        assert answer.startswith(b"HTTP/1.1 4"), (name, answer)
        assert answer.count(b"HTTP/1.1 4") == 1, (name, answer)
        assert b'"error"' in answer, (name, answer)
    assert upstream.requests == []
    upstream.chat("fine")
    with socket.create_connection(("127.0.0.1", worker.port), timeout=10) as peer:
        peer.sendall(SMUGGLED)
        deadline = time.monotonic() + 10
        while not upstream.requests:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    assert len(upstream.requests) == 1
