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
BACKLOG = 4096


class TurningAway:
    """Accepts on sockets that listen, beside whoever else does, and answers what ``answer`` gives: a whole HTTP response.

    The sockets stay open. Make it on the running loop; Close it in the end.
    """

    def __init__(self, sockets: Iterable[socket.socket], answer: Callable[[], bytes], tls: ssl.SSLContext | None = None) -> None:
        self._sockets = tuple(sockets)
        self._answer = answer
        self._tls = tls
        self._servers: list[asyncio.Server] = []
        self._peers: set[_Peer] = set()

    async def begin(self) -> None:
        """Accept from now on."""
        loop = asyncio.get_running_loop()
        for sock in self._sockets:
            own = sock.dup()
            own.setblocking(False)
            server = await loop.create_server(lambda: _Peer(self._peers, self._answer), sock=own, backlog=BACKLOG, ssl=self._tls)
            self._servers.append(server)

    async def drain(self) -> None:
        """Take what is in the queues as well, and close."""
        await asyncio.sleep(0.01)  # a turn in which the loop sees who has connected, and one in which it takes them
        await self.close()

    async def close(self) -> None:
        """Accept no more, wait until those that were accepted have read their answer, and end."""
        for server in self._servers:
            server.close()
        if speaking := [peer.gone for peer in self._peers if peer.speaks]:
            await asyncio.wait(speaking, timeout=LINGER)
        for peer in list(self._peers):
            peer.cut()


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

    @property
    def speaks(self) -> bool:
        """It has sent something, so it waits for an answer or reads it."""
        return bool(self._head)

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
