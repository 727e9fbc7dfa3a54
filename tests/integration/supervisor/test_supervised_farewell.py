"""Whoever connects to a server that is ending, or ends before it began, is told so and not cut off."""

import json
import signal
import socket
from contextlib import closing

from tests.integration.supervisor.served import Server, eventually

ASK = b"POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\n{}"


def answer_on(sock: socket.socket) -> tuple[bytes, dict]:
    """Head and body of what comes until the server closes."""
    head, _, body = b"".join(iter(lambda: sock.recv(65536), b"")).partition(b"\r\n\r\n")
    return head, json.loads(body)


def connected(server: Server) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.state.port), timeout=20)


def assert_draining(sock: socket.socket) -> None:
    head, body = answer_on(sock)
    assert head.startswith(b"HTTP/1.1 503 "), head
    assert b"retry-after: 1" in head
    assert b"x-request-id: " + body["request_id"].encode() in head
    assert body["error"]["code"] == "draining"


def test_a_call_that_came_before_any_worker_was_ready_is_told_that_the_server_ends(server: Server) -> None:
    server.write(behaviour={"worker-0": "stuck"})
    server.start()
    eventually(lambda: any(notice["text"] == "for ever" for notice in server.notices))
    with closing(connected(server)) as sock, closing(connected(server)) as silent:
        sock.sendall(ASK)
        server.signal(signal.SIGTERM)
        assert_draining(sock)
        assert silent.recv(1) == b""
    assert server.ended() == 0


def test_a_call_that_comes_while_others_are_finished_is_told_that_the_server_ends(server: Server) -> None:
    server.write(server={"workers": 2})
    server.serving()
    request = server.in_background("/1.0")
    server.signal(signal.SIGTERM)
    eventually(lambda: server.named("worker-0").state in ("draining", "stopped"))
    with closing(connected(server)) as sock:
        sock.sendall(ASK + b"x" * 100_000)
        head = sock.recv(65536)
    assert head.startswith((b"HTTP/1.1 503 ", b"HTTP/1.1 200 "))  # a worker may have been the first to take it
    assert request.result()["name"].startswith("worker-")
    assert server.ended() == 0
