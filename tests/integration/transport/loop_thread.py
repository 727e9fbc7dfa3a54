"""A uvloop event loop in a thread, so that plain blocking sockets can talk to it."""

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any, Self, TypeVar

import uvloop

from antiphon.transport.listeners import tcp_listener
from antiphon.transport.server import Handler, HttpServer, ServerLimits

T = TypeVar("T")


class LoopThread:
    """``with LoopThread() as loop: loop.run(coroutine)``."""

    def __enter__(self) -> Self:
        self.servers: list[HttpServer] = []
        self._peers: list[Peer] = []
        self.loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._main, daemon=True)
        self._thread.start()
        return self

    def _main(self) -> None:
        self.loop.run_forever()
        self.loop.close()

    def __exit__(self, *_: object) -> None:
        for peer in self._peers:
            peer.close()
        for server in self.servers:
            self.run(server.close())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(5)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(20)

    def until(self, condition: Callable[[], bool]) -> None:
        """Wait, with a deadline."""
        deadline = time.monotonic() + 10
        while not condition():
            assert time.monotonic() < deadline
            time.sleep(0.005)

    def peer(self, port: int) -> "Peer":
        """A connection to a port of this machine, closed at the end."""
        peer = Peer(port)
        self._peers.append(peer)
        return peer

    def serve(self, handler: Handler, limits: ServerLimits | None = None) -> tuple[HttpServer, int]:
        """A server on a free port."""
        sock = tcp_listener("127.0.0.1", 0)

        async def start() -> HttpServer:
            server = HttpServer(handler, limits)
            await server.listen(sock)
            return server

        server = self.run(start())
        self.servers.append(server)
        return server, int(sock.getsockname()[1])


class Peer:
    """A blocking socket that speaks bytes."""

    def __init__(self, port: int) -> None:
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=10)

    def send(self, data: bytes) -> "Peer":
        self.sock.sendall(data)
        return self

    def read_until(self, end: bytes) -> bytes:
        """What comes up to and with ``end``."""
        data = b""
        while end not in data:
            piece = self.sock.recv(65536)
            if not piece:
                break
            data += piece
        return data

    def read_all(self) -> bytes:
        """What comes until the server closes."""
        data = b""
        while True:
            try:
                piece = self.sock.recv(65536)
            except ConnectionResetError:
                return data
            if not piece:
                return data
            data += piece

    def close(self) -> None:
        self.sock.close()
