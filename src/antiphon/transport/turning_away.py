"""Turns callers away: each is given one answer, whatever it asks, and its connection is closed."""

import asyncio
import socket
import ssl
from collections.abc import Callable, Iterable

PATIENCE = 1.0
"""Seconds that a caller has to send its request."""
LINGER = 0.5
"""Seconds in which a caller reads the answer and closes; what it still sends meanwhile is thrown away."""
MAX_HEAD = 65536
"""Bytes of a request that are waited for; its body need not have come."""
BACKLOG = 128
"""Connections that are taken in one go."""


class TurningAway:
    """Accepts on sockets that listen, beside whoever else does, and answers what ``answer`` gives: a whole HTTP response.

    Where that is None a connection is closed at once. The sockets stay open. Make it on the running loop; close it in the end.
    """

    def __init__(
        self, sockets: Iterable[socket.socket], answer: Callable[[], bytes] | None, tls: ssl.SSLContext | None = None
    ) -> None:
        self._answer = answer
        self._tls = tls
        self._loop = asyncio.get_running_loop()
        self._peers: set[_Peer] = set()
        self._arriving: set[asyncio.Task[None]] = set()
        self._sockets = [sock.dup() for sock in sockets]
        for sock in self._sockets:
            sock.setblocking(False)
            self._loop.add_reader(sock, self._accept, sock)

    async def drain(self) -> None:
        """Take what is in the queues as well, close, and wait until all have read their answer, but not for long."""
        await asyncio.sleep(0.01)  # a turn in which the loop sees who has connected, and one in which it takes them
        self.close()
        deadline = self._loop.time() + LINGER
        waiting: set[asyncio.Future[None]]
        while waiting := {*self._arriving, *(peer.gone for peer in self._peers)}:
            if (left := deadline - self._loop.time()) <= 0:
                break
            await asyncio.wait(waiting, timeout=left)
        for peer in list(self._peers):
            peer.cut()

    def close(self) -> None:
        """Accept no more. Those that were accepted are still answered, within ``PATIENCE`` and ``LINGER``."""
        for sock in self._sockets:
            self._loop.remove_reader(sock)
            sock.close()
        self._sockets.clear()

    def _accept(self, sock: socket.socket) -> None:
        # by hand: a server of asyncio's forgets a connection that it accepts in the turn in which it is closed
        for _ in range(BACKLOG):
            try:
                connection, _ = sock.accept()
            except OSError:  # nobody waits any more, or there is no descriptor left for whoever does
                return
            if self._answer is None:
                connection.close()
                continue
            connection.setblocking(False)
            task = self._loop.create_task(self._welcome(connection, self._answer))
            self._arriving.add(task)
            task.add_done_callback(self._arriving.discard)

    async def _welcome(self, connection: socket.socket, answer: Callable[[], bytes]) -> None:
        try:
            await self._loop.connect_accepted_socket(lambda: _Peer(self._peers, answer), connection, ssl=self._tls)
        except OSError:  # it left, or speaks no TLS
            connection.close()


class _Peer(asyncio.Protocol):
    """A caller that is turned away."""

    def __init__(self, peers: "set[_Peer]", answer: Callable[[], bytes]) -> None:
        self._peers = peers
        self._words = answer
        self._loop = asyncio.get_running_loop()
        self._head = b""
        self._answered = False
        self.gone: asyncio.Future[None] = self._loop.create_future()
        """Done once the connection is closed."""
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._peers.add(self)
        self._timer = self._loop.call_later(PATIENCE, self._answer)

    def data_received(self, data: bytes) -> None:
        if not self._answered:
            self._head += data
            if b"\r\n\r\n" in self._head or len(self._head) > MAX_HEAD:
                self._answer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._peers.discard(self)
        self._transport = None
        self.gone.set_result(None)
        if self._timer is not None:
            self._timer.cancel()

    def cut(self) -> None:
        """Close without a word more."""
        if self._transport is not None:
            self._transport.abort()

    def _answer(self) -> None:
        if self._transport is None:
            return
        if self._answered or not self._head:
            self._transport.close()
            return
        self._answered = True
        self._transport.write(self._words())
        if self._transport.can_write_eof():
            self._transport.write_eof()
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(LINGER, self._transport.close)
