"""Accepts connections and looks at the first bytes of each, before TLS and HTTP do: a PROXY header, or HTTP where TLS is spoken.

A connection whose first bytes nobody need look at never comes here; one that does is handed over as a socket, from which no byte
has been read that is not the header's.
"""

import asyncio
import errno
import logging
import socket
import ssl
from typing import Literal, get_args

from antiphon.transport.listeners import BACKLOG
from antiphon.transport.proxy_protocol import MalformedHeaderError, ProxyHeader, ProxyRules
from antiphon.transport.server import HttpServer, Listening

AT_ONCE = 64
"""Connections accepted in one turn of the loop."""

NO_ROOM_PAUSE = 1.0
"""Seconds without accepting when there are no descriptors or no memory left."""

QUIET = 60.0
"""Seconds between two lines in the log about refusals for the same reason."""

_NO_ROOM = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))
_NODELAY = (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

log = logging.getLogger(__name__)


Kind = Literal["untrusted", "malformed", "incomplete", "timeout"]
"""Why a connection is refused: by who its peer is, or by a header that is none, breaks off, or does not come in time."""


class Refusals:
    """Counts the connections that are refused before they say anything, and tells of them now and then."""

    def __init__(self) -> None:
        self.kinds: dict[str, int] = dict.fromkeys(get_args(Kind), 0)
        self.counts: dict[str, int] = {}
        """By reason, in words."""
        self._told: dict[str, tuple[float, int]] = {}

    def add(self, peer: str, kind: Kind, reason: str, now: float) -> None:
        self.kinds[kind] += 1
        count = self.counts[reason] = self.counts.get(reason, 0) + 1
        last, before = self._told.get(reason, (-QUIET, 0))
        if now - last >= QUIET:
            self._told[reason] = (now, count)
            more = f" ({count - before} of them since the last such line)" if count - before > 1 else ""
            log.warning("a connection from %s is closed: %s%s", peer, reason, more)


async def listen(
    server: HttpServer,
    sock: socket.socket,
    tls: ssl.SSLContext | None,
    proxies: ProxyRules | None = None,
    refusals: Refusals | None = None,
) -> Listening:
    """Have ``server`` accept on a TCP socket that is bound: under TLS if there is a context, behind proxies if there are rules.

    What is refused is counted in ``refusals``, which several sockets may share.
    """
    if tls is None and proxies is None:
        return await server.listen(sock)
    return Reception(server, sock, tls, proxies, refusals)


class Reception:
    """Accepts on one socket until it is closed; what has been accepted goes on. Make it on the running loop.

    ``proxies`` may be set to other rules at any time, which hold for the connections that come from then on.
    """

    def __init__(
        self,
        server: HttpServer,
        sock: socket.socket,
        tls: ssl.SSLContext | None,
        proxies: ProxyRules | None,
        refusals: Refusals | None = None,
    ) -> None:
        self.server = server
        self.tls = tls
        self.proxies = proxies
        self.refusals = Refusals() if refusals is None else refusals
        self.loop = asyncio.get_running_loop()
        self._sock = sock
        self._pause: asyncio.TimerHandle | None = None
        sock.setblocking(False)
        sock.listen(BACKLOG)
        self._accept_on()
        server.attach(self)

    def close(self) -> None:
        """Accept no more."""
        if self._pause is not None:
            self._pause.cancel()
        elif self._sock.fileno() >= 0:
            self.loop.remove_reader(self._sock)
        self._sock.close()

    def refuse(self, sock: socket.socket, peer: str, kind: Kind, reason: str) -> None:
        """Close a connection without an answer."""
        self.refusals.add(peer, kind, reason, self.loop.time())
        sock.close()

    def _accept_on(self) -> None:
        self._pause = None
        self.loop.add_reader(self._sock, self._accept)

    def _accept(self) -> None:
        for _ in range(AT_ONCE):
            try:
                sock, address = self._sock.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in _NO_ROOM:
                    raise
                log.error("no connection can be accepted for now: %s", error.strerror)
                self.loop.remove_reader(self._sock)
                self._pause = self.loop.call_later(NO_ROOM_PAUSE, self._accept_on)
                return
            sock.setblocking(False)
            sock.setsockopt(*_NODELAY)
            host = str(address[0])
            if self.proxies is not None and not self.proxies.trusts(host):
                self.refuse(sock, host, "untrusted", "it is not among server.trusted_proxies")
            else:
                _Arrival(self, sock, host)


class _Arrival:
    """One connection up to its first byte of HTTP or TLS."""

    def __init__(self, reception: Reception, sock: socket.socket, host: str) -> None:
        self._reception = reception
        self._sock = sock
        self._host = host
        proxies = reception.proxies
        self._header = ProxyHeader(proxies.versions) if proxies is not None else None
        self._client = host if proxies is not None else ""
        self._handing_over: asyncio.Task[None] | None = None
        loop, server = reception.loop, reception.server
        loop.add_reader(sock, self._look)
        self._limit = loop.call_later(server.limits.header_timeout, self._expired)
        server.arriving.add(self)
        self._look()

    def abort(self) -> None:
        if self._handing_over is not None:
            self._handing_over.cancel()
        else:
            self._leave()
            self._sock.close()

    def _look(self) -> None:
        try:
            self._read_on()
        except (BlockingIOError, InterruptedError):
            return
        except MalformedHeaderError as error:
            self._refuse("malformed", str(error))
        except OSError:
            self.abort()

    def _read_on(self) -> None:
        """Take the next bytes of the header if there are any, and hand over once nothing is left to be looked at."""
        header = self._header
        while header is not None and not header.complete:
            seen = self._sock.recv(header.wanted, socket.MSG_PEEK)
            if not seen:
                self._ended(begun=header.begun)
                return
            self._sock.recv(header.take(seen))
        if header is not None:
            self._client = header.client or self._host
        tls = self._reception.tls
        if tls is None:
            self._hand_over(plain=False)
            return
        first = self._sock.recv(1, socket.MSG_PEEK)
        if first:
            self._hand_over(plain=first.isalpha())
        else:
            self._ended(begun=False)

    def _ended(self, *, begun: bool) -> None:
        """It has left. One that says nothing at all is a load balancer that looks whether anybody is there."""
        if begun:
            self._refuse("incomplete", "it ended before its PROXY header was complete")
        else:
            self.abort()

    def _hand_over(self, *, plain: bool) -> None:
        self._look_no_more()
        reception = self._reception
        tls = None if plain else reception.tls
        admitted = reception.server.admit(self._sock, tls, client=self._client.encode(), plain=plain)
        self._handing_over = reception.loop.create_task(admitted)
        self._handing_over.add_done_callback(lambda _: reception.server.arriving.discard(self))

    def _expired(self) -> None:
        if self._header is not None and not self._header.complete:
            self._refuse("timeout", "its PROXY header did not come in time")
        else:
            self.abort()

    def _refuse(self, kind: Kind, reason: str) -> None:
        self._leave()
        self._reception.refuse(self._sock, self._host, kind, reason)

    def _leave(self) -> None:
        self._look_no_more()
        self._reception.server.arriving.discard(self)

    def _look_no_more(self) -> None:
        self._limit.cancel()
        self._reception.loop.remove_reader(self._sock)
