"""An HTTP/1.1 server of callbacks: whole requests in, whole or streamed responses out, no task and no future per call."""

import asyncio
import math
import socket
import ssl
from collections.abc import Callable
from email.utils import formatdate
from http import HTTPStatus
from typing import Any, Final, Protocol

import httptools

from antiphon.transport.deadlines import DeadlineWheel, Timed
from antiphon.transport.fairness import LARGE_READ, rest_a_turn
from antiphon.transport.limits import ServerLimits
from antiphon.transport.messages import Request, Responder, ResponseListener
from antiphon.transport.strict import one_reading

__all__ = ["Handler", "HttpServer", "Request", "Responder", "ResponseListener", "ServerLimits"]

MAX_PIPELINED: Final = 16
"""Requests that one connection may have waiting behind the one being answered before it is no longer read."""

MAX_PIPELINED_BYTES: Final = 1 << 20
"""Bytes of bodies that these may have; what one read brought is taken beyond it."""

MAX_FIELDS: Final = 256
"""Header lines of a request."""

FAREWELL: Final = 0.1
"""Seconds that what is written at the end of the grace has to go out."""

LINGER: Final = 0.5
"""Seconds for which a draining server keeps idle connections."""

LAST_WORDS: Final = 1.0
"""Seconds for which a refused peer may go on sending: closing at once would reset the connection before it has read why."""

PLAIN_ON_TLS: Final = 497
"""Plain HTTP where TLS is spoken. nginx has this number for it, which no answer shows: it goes out as 400."""

FORWARDED_FOR: Final = b"x-forwarded-for"
"""Field of a request that says who the client is, where proxies tell it ahead of the first request."""

_OFFER: Final = frozenset((b"upgrade", b"connection", b"http2-settings"))
_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
_NEVER: Final = frozenset((b"CONNECT", b"SOURCE"))  # the second is Icecast's, whose protocol llhttp takes for HTTP
_VERSIONS: Final = frozenset(("1.0", "1.1"))


Handler = Callable[[Request, Responder], None]


class _Connection(Timed):
    """One peer. An asyncio protocol by its methods and not by its base class, since a compiled class has compiled bases only."""

    __slots__ = (
        "_backlog",
        "_body",
        "_closing",
        "_current",
        "_head_bytes",
        "_headers",
        "_host",
        "_in_head",
        "_known",
        "_late",
        "_lines",
        "_overhead",
        "_paused",
        "_parser",
        "_refused",
        "_seen",
        "_size",
        "_target",
        "_timed",
        "_transport",
        "_writing_paused",
        "server",
    )

    def __init__(self, server: "HttpServer") -> None:
        Timed.__init__(self)
        self.server = server
        self._transport: asyncio.Transport | None = None
        self._parser: Any = httptools.HttpRequestParser(self)
        self._current: Responder | None = None
        self._backlog: list[tuple[Request, Responder]] = []
        self._lines: list[tuple[bytes, bytes]] = []
        self._headers: dict[bytes, bytes] = {}
        self._target = b""
        self._host: bytes | None = b""
        self._known = b""  # the last target that was found to be in order, together with the Host
        self._body: list[bytes] = []
        self._size = 0
        self._head_bytes = 0  # not 0: a request has begun and is not complete
        self._seen = self._overhead = 0  # size of the body at the last look, and bytes since then that were none of it
        self._in_head = True
        self._late = False
        self._timed = False
        self._refused = 0
        self._closing = False
        self._paused = False
        self._writing_paused = False

    # -- the peer's bytes

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # uvloop's transports are not subclasses of asyncio.Transport
        transport.set_write_buffer_limits(high=self.server.limits.write_buffer)  # type: ignore[attr-defined]
        self.server.connections.add(self)
        self.server.wheel.set(self, self.server.limits.header_timeout)

    def data_received(self, data: bytes) -> None:
        if self._closing:
            return
        if self._in_head:
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._take_without_offer(data[upgrade.args[0] :])
        except httptools.HttpParserError:
            self._refused = self._refused or 400
        if (self._head_bytes or self._refused) and not self._closing:
            self._wait_for_the_rest(len(data))

    def _take_without_offer(self, rest: bytes) -> None:
        """The peer offers another protocol, and llhttp stops before the body. None is spoken here: read on as if nothing were."""
        while not self._refused:
            head = self._head_without_offer()
            self._parser = httptools.HttpRequestParser(self)
            try:
                self._parser.feed_data(head + rest)
            except httptools.HttpParserUpgrade as upgrade:
                rest = rest[upgrade.args[0] - len(head) :]
                continue
            except httptools.HttpParserError:
                self._refused = 400
            return

    def _head_without_offer(self) -> bytes:
        method, version = self._parser.get_method(), self._parser.get_http_version()
        fields = b"".join(b"%b: %b\r\n" % field for field in self._headers.items() if field[0] not in _OFFER)
        for option in (b"close", b"keep-alive"):
            if option in _list(self._headers.get(b"connection", b"")):
                fields += b"connection: %b\r\n" % option
        head = b"%b %b HTTP/%b\r\n%b\r\n" % (method, self._target, version.encode(), fields)
        self._headers, self._target, self._lines = {}, b"", []
        self._in_head = True
        return head

    def _wait_for_the_rest(self, size: int) -> None:
        """A request has begun and is not complete: hold it to the limits. Most requests come whole and never get here."""
        limits = self.server.limits
        if self._in_head:
            if self._head_bytes > limits.max_header_bytes:
                self._refused = self._refused or 431
            elif self._current is None and not self._timed and not self._writing_paused:
                self._timed = True
                self.server.wheel.set(self, limits.header_timeout)
        else:
            self._wait_for_the_body(size)
        if self._refused:
            self._refuse(self._refused)

    def _wait_for_the_body(self, size: int) -> None:
        limits = self.server.limits
        idle = self._current is None and not self._writing_paused
        if not self._late:
            self._seen = self._overhead = 0
            announced = self._headers.get(b"content-length", b"").strip().lstrip(b"0") or b"0"
            if len(announced) > 15 or int(announced) > limits.max_body_bytes:
                self._refused = self._refused or 413
            elif idle and not self._body and self._expects():
                self.write(_CONTINUE)
            self._late = idle
        elif self._size > self._seen:
            self._seen, self._overhead = self._size, 0
        else:
            self._overhead += size  # an endless chunk extension, or trailers
            if self._overhead > limits.max_header_bytes or len(self._lines) > MAX_FIELDS:
                self._refused = self._refused or 431
        if idle:
            self.server.wheel.set(self, limits.body_timeout)
        if size >= LARGE_READ:
            rest_a_turn(self)

    def _expects(self) -> bool:
        """The peer waits to be told to send the body; HTTP/1.0 does not know of this (RFC 9110, section 10.1.1)."""
        return self._headers.get(b"expect", b"").strip().lower() == b"100-continue" and self._parser.get_http_version() != "1.0"

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.server.connections.discard(self)
        self.deadline = math.inf
        self._closing = True
        self._transport = None
        self._backlog.clear()
        self._body.clear()
        self._headers.clear()
        self._parser = None  # parser and connection hold each other; let go, so that both are freed at once
        current, self._current = self._current, None
        if current is not None:
            listener = current.listener
            current.detach()
            if listener is not None:
                listener.gone()

    def pause_writing(self) -> None:
        self._writing_paused = True
        self.server.wheel.set(self, self.server.limits.write_timeout)
        if self._current is not None and self._current.listener is not None:
            self._current.listener.pause()

    def resume_writing(self) -> None:
        self._writing_paused = False
        if self._closing and not self._refused and self._current is None:
            self.server.wheel.set(self, self.server.limits.write_timeout)
            return
        self.deadline = math.inf
        if self._current is None:
            self._go_on()
        elif self._current.listener is not None:
            self._current.listener.resume()

    def expired(self) -> None:
        """Timed: the peer was silent for too long."""
        if self._writing_paused or (self._closing and self._current is None):
            self.abort()
        elif self._current is None and self._head_bytes:
            self._refuse(408)
        elif self._current is None:
            self.close()

    # -- llhttp's callbacks

    def on_url(self, url: bytes) -> None:
        self._target += url
        if not self._head_bytes:
            self._head_bytes = len(url)  # behind another request in one read

    def on_header(self, name: bytes, value: bytes) -> None:
        self._lines.append((name, value))

    def on_headers_complete(self) -> None:
        self._in_head = False
        lines, self._lines = self._lines, []  # lines that follow are trailers, which are of no use here
        headers = {name.lower(): value for name, value in lines}
        self._headers = headers = headers if len(headers) == len(lines) else _joined(lines)
        limit = self.server.limits.max_header_bytes
        if len(lines) > MAX_FIELDS or (
            self._head_bytes > limit and sum(len(name) + len(value) for name, value in lines) + len(self._target) > limit
        ):
            self._refused = 431
        host = headers.get(b"host")
        if host != self._host or self._target != self._known:
            parser = self._parser
            if one_reading(parser.get_method(), self._target, parser.get_http_version(), host):
                self._host, self._known = host, (self._target if host is not None else b"")
            else:
                self._refused = self._refused or 400
        if b"transfer-encoding" in headers and (
            headers[b"transfer-encoding"].strip().lower() != b"chunked" or self._parser.get_http_version() != "1.1"
        ):
            self._refused = self._refused or 400

    def on_body(self, body: bytes) -> None:
        self._size += len(body)
        if self._size > self.server.limits.max_body_bytes:
            self._refused = 413
            self._body.clear()
            return
        self._body.append(body)

    def on_message_complete(self) -> None:
        if self._refused or self._closing:
            return
        parser, headers = self._parser, self._headers
        if b"upgrade" in headers and parser.should_upgrade():
            return  # ``_take_without_offer`` reads it again
        method = parser.get_method()
        if method in _NEVER:
            self._refused = 400
            return
        keep_alive = parser.should_keep_alive()
        old_http = False
        if not keep_alive or b"connection" in headers:  # as in every request that is not HTTP/1.1
            version = parser.get_http_version()
            old_http = version == "1.0"
            if version not in _VERSIONS:
                self._refused = 400
                return
        if self._lines:
            if len(self._lines) > MAX_FIELDS:
                self._refused = 431
                return
            self._lines = []
        body = self._body
        request = Request(method.decode(), self._target, headers, body[0] if len(body) == 1 else b"".join(body))
        responder = Responder(self, keep_alive, method == b"HEAD", old_http)
        self._headers = {}
        self._target = b""
        self._body = []
        self._size = 0
        self._head_bytes = 0
        self._in_head = True
        self._late = self._timed = False
        if self._current is None and not self._backlog and not self._writing_paused:
            self.deadline = math.inf
            self._current = responder
            self.server.handler(request, responder)
            return
        self._backlog.append((request, responder))
        if not self._paused and self._transport is not None and self._backlog_is_full():
            self._paused = True
            self._transport.pause_reading()

    def _backlog_is_full(self) -> bool:
        backlog = self._backlog
        return len(backlog) >= MAX_PIPELINED or sum(len(request.body) for request, _ in backlog) > MAX_PIPELINED_BYTES

    # -- the responder's calls

    def write(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)

    def writelines(self, pieces: tuple[bytes, ...]) -> None:
        if self._transport is not None:
            self._transport.writelines(pieces)

    def answered(self, keep_alive: bool) -> None:
        """The current response is complete: close, rest, or go on with what came behind it."""
        self._current = None
        if not keep_alive or self.server.draining:
            self.close()
        elif self._backlog or self._refused or self._head_bytes:
            self._go_on()
        elif not self._writing_paused:
            self.server.wheel.set(self, self.server.limits.keep_alive)

    def _go_on(self) -> None:
        """Nothing is being answered: take the next pipelined request, wait for the rest of one, or rest."""
        if self._writing_paused:
            return  # ``resume_writing`` comes back here
        if self._backlog:
            asyncio.get_running_loop().call_soon(self._next)
        elif self._refused or self._head_bytes:
            self._wait_for_the_rest(0)
        else:
            self.server.wheel.set(self, self.server.limits.keep_alive)

    def _next(self) -> None:
        if self._current is not None or not self._backlog or self._writing_paused:
            return
        request, self._current = self._backlog.pop(0)
        if self._paused and self._transport is not None and not self._backlog_is_full():
            self._paused = False
            self._transport.resume_reading()
        self.deadline = math.inf
        self.server.handler(request, self._current)

    def busy(self) -> bool:
        """A request is being answered or received."""
        return self._current is not None or not self._in_head or self._head_bytes > 0

    def close(self) -> None:
        """Close once what was written has gone out."""
        self._closing = True
        self._backlog.clear()
        transport = self._transport
        if transport is None:
            return
        if self._refused and transport.can_write_eof():
            self._refused = 0
            self.server.wheel.set(self, LAST_WORDS)
            transport.write_eof()  # the peer's own end, or the deadline, closes the rest
        else:
            self.server.wheel.set(self, self.server.limits.write_timeout)
            transport.close()

    def abort(self) -> None:
        self._closing = True
        if self._transport is not None:
            self._transport.abort()

    def _refuse(self, status: int) -> None:
        """Read no more; once what came before has been answered, answer what cannot be served as HTTP, and close."""
        self._closing = True
        self._refused = status
        if self._current is None and not self._backlog and not self._writing_paused and self._transport is not None:
            self._head_bytes = 0
            self._current = responder = Responder(self, False)
            self.server.refuse(status, responder)


class _Proxied(_Connection):
    """A peer that speaks for a client: its requests say for whom in ``x-forwarded-for``, whatever they said themselves."""

    __slots__ = ("client",)

    def __init__(self, server: "HttpServer", client: bytes) -> None:
        super().__init__(server)
        self.client = client

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self._headers[FORWARDED_FOR] = self.client


class _PlainOnTls(_Connection):
    """A peer that speaks plain HTTP where TLS is spoken. It is told so, and nothing of what it says is read."""

    __slots__ = ()

    def data_received(self, data: bytes) -> None:
        if not self._closing:
            self._refuse(PLAIN_ON_TLS)


class Listening(Protocol):
    """Accepts connections until it is closed."""

    def close(self) -> None: ...


class Arriving(Protocol):
    """A connection that has not come as far as HTTP."""

    def abort(self) -> None: ...


def _list(value: bytes) -> list[bytes]:
    """Members of a comma-separated value, in lower case."""
    return [member.strip().lower() for member in value.split(b",")]


def _joined(lines: list[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """Headers of which some are repeated."""
    headers: dict[bytes, bytes] = {}
    for field, value in lines:
        name = field.lower()
        headers[name] = value if name not in headers else headers[name] + b", " + value
    return headers


def _plain_refusal(status: int, responder: Responder) -> None:
    if status == PLAIN_ON_TLS:
        responder.send(400, ((b"content-type", b"text/plain"),), b"this port speaks HTTPS; use https://")
    else:
        responder.send(status, ((b"content-type", b"text/plain"),), HTTPStatus(status).phrase.encode())


class HttpServer:
    """Serves ``handler`` on any number of listening sockets, TCP or Unix. Create it on the running loop.

    ``refuse`` answers what never became a request: 400 malformed, 408 too slow, 413 and 431 too large, ``PLAIN_ON_TLS``.
    """

    def __init__(
        self, handler: Handler, limits: ServerLimits | None = None, refuse: Callable[[int, Responder], None] = _plain_refusal
    ) -> None:
        self.handler = handler
        self.refuse = refuse
        self.limits = limits or ServerLimits()
        self.connections: set[_Connection] = set()
        self.draining = False
        self.date = b""
        self._loop = asyncio.get_running_loop()
        self.wheel = DeadlineWheel(self._loop)
        self._servers: list[Listening] = []
        self.arriving: set[Arriving] = set()
        """Connections that were accepted elsewhere and are to be admitted yet."""
        self._clock: asyncio.TimerHandle | None = None
        self._tell_time()

    async def listen(self, sock: socket.socket, tls: ssl.SSLContext | None = None) -> "Listening":
        """Accept on a socket that is bound, TCP sockets under ``tls`` if it is given. Gives back what ``leave`` takes."""
        if sock.family == socket.AF_UNIX:
            listening = await self._loop.create_unix_server(self._accept, sock=sock, backlog=4096)
        else:
            patience = self.limits.header_timeout if tls is not None else None
            options: Any = {"sock": sock, "backlog": 4096, "ssl": tls, "ssl_handshake_timeout": patience}
            listening = await self._loop.create_server(self._accept, **options)
        self._servers.append(listening)
        return listening

    def _accept(self) -> Any:
        return _Connection(self)

    def attach(self, listening: "Listening") -> None:
        """Stop what accepts by itself, and calls ``admit``, when the server drains."""
        self._servers.append(listening)

    async def admit(self, sock: socket.socket, tls: ssl.SSLContext | None, *, client: bytes, plain: bool) -> None:
        """Serve a connection that was accepted elsewhere.

        ``client`` is who the peer speaks for, if it is a proxy. A ``plain`` one speaks HTTP where TLS is spoken: it is told so.
        """
        patience = self.limits.header_timeout if tls is not None else None

        def connection() -> Any:
            return _PlainOnTls(self) if plain else _Proxied(self, client) if client else _Connection(self)

        try:
            await self._loop.connect_accepted_socket(connection, sock, ssl=tls, ssl_handshake_timeout=patience)
        except OSError:  # it left, or there was no handshake
            sock.close()

    def leave(self, listening: "Listening") -> None:
        """Accept no more on one socket. The connections that came over it stay."""
        listening.close()
        self._servers.remove(listening)

    async def drain(self, grace: float, last_words: Callable[[], None] | None = None) -> None:
        """Accept no more, let running requests finish for at most ``grace`` seconds, then close.

        An idle connection is kept for ``LINGER`` more, so that a request that is on its way already is answered and told to close.
        ``last_words`` is called where requests are left at the end of the grace: it may answer them, which must be short.
        """
        self.draining = True
        for server in self._servers:
            server.close()
        await asyncio.sleep(0)  # one that was accepted in this very turn has not said yet that it is there
        now = self._loop.time()
        deadline, linger = now + grace, now + min(grace, LINGER)
        while (self.connections and now < deadline) or (self.arriving and now < linger):
            for connection in list(self.connections):
                if now >= linger and not connection.busy():
                    connection.close()
            await asyncio.sleep(0.02)
            now = self._loop.time()
        if self.connections and last_words is not None:
            last_words()
            await asyncio.sleep(FAREWELL)
        await self.close()

    async def close(self) -> None:
        """Cut all connections and stop listening."""
        self.draining = True
        for server in self._servers:
            server.close()
        for connection in (*self.connections, *self.arriving):
            connection.abort()
        if self._clock is not None:
            self._clock.cancel()
        await asyncio.sleep(0)

    @property
    def active(self) -> int:
        """Requests being answered."""
        return sum(connection.busy() for connection in self.connections)

    def _tell_time(self) -> None:
        self.date = b"date: %b\r\n" % formatdate(usegmt=True).encode()
        self._clock = self._loop.call_later(1.0, self._tell_time)
