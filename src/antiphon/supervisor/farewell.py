"""The last word of a server that ends: whoever connects when no worker accepts any more is told so, instead of being cut off."""

import asyncio
import logging
import socket
import uuid
from collections.abc import Iterable

from antiphon.config.network import listening_tls
from antiphon.config.settings import ServerSettings
from antiphon.core.errors import ConfigError, Draining
from antiphon.execution.wire import openai_errors

PATIENCE = 1.0
"""Seconds that a caller has to send its request."""
LINGER = 0.5
"""Seconds in which a caller reads the answer and closes; what it still sends meanwhile is thrown away."""
MAX_HEAD = 65536
"""Bytes of a request that are waited for; its body need not have come."""
BACKLOG = 4096

log = logging.getLogger(__name__)


class Farewell:
    """Answers 503 ``draining`` on public sockets. Make it on the running loop; ``close`` lets answers arrive.

    The sockets stay open, for others too: while workers still accept, a caller may reach either. Where the certificate of HTTPS
    cannot be read any more, nobody is answered.
    """

    def __init__(self, sockets: Iterable[socket.socket], settings: ServerSettings) -> None:
        self._sockets = tuple(sockets)
        self._settings = settings
        self._servers: list[asyncio.Server] = []
        self._peers: set[_Peer] = set()

    async def begin(self) -> None:
        """Accept from now on."""
        loop = asyncio.get_running_loop()
        try:
            tls = listening_tls(self._settings)
        except ConfigError as error:
            log.warning("callers that connect while the server ends are not answered: %s", error)
            return
        for sock in self._sockets:
            own = sock.dup()
            own.setblocking(False)
            server = await loop.create_server(lambda: _Peer(self._peers), sock=own, backlog=BACKLOG, ssl=tls)
            self._servers.append(server)

    async def close(self) -> None:
        """Take what is in the queues, wait until it has been answered, and end."""
        await asyncio.sleep(0.01)  # a turn in which the loop sees who has connected, and one in which it takes them
        for server in self._servers:
            server.close()
        if speaking := [peer.gone for peer in self._peers if peer.speaks]:
            await asyncio.wait(speaking, timeout=LINGER)
        for peer in list(self._peers):
            peer.cut()


class _Peer(asyncio.Protocol):
    """A caller that came too late."""

    def __init__(self, peers: "set[_Peer]") -> None:
        self._peers = peers
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
        self._transport.write(_words())
        if self._transport.can_write_eof():
            self._transport.write_eof()
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(LINGER, self._transport.close)


def _words() -> bytes:
    identity = f"req_{uuid.uuid4().hex}"
    status, body = openai_errors.render(Draining(), identity)
    head = (
        f"HTTP/1.1 {status} Service Unavailable\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
        f"x-request-id: {identity}\r\nretry-after: 1\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + body
