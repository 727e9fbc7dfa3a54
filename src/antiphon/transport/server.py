"""An HTTP/1.1 server of callbacks: whole requests in, whole or streamed responses out, no task and no future per call."""

import asyncio
import math
import socket
from collections import deque
from collections.abc import Callable
from email.utils import formatdate
from http import HTTPStatus
from typing import Any, Protocol

import httptools
import msgspec

from antiphon.core.types import Headers
from antiphon.transport.deadlines import DeadlineWheel, Timed

MAX_PIPELINED = 16
"""Requests that one connection may have waiting behind the one being answered before it is no longer read."""

MAX_FIELDS = 256
"""Header lines of a request."""
LINGER = 0.5
"""Seconds for which a draining server keeps idle connections."""

_STATUS_LINES = {s.value: f"HTTP/1.1 {s.value} {s.phrase}\r\n".encode() for s in HTTPStatus}
_CHUNK_BIG = 16384
_OFFER = frozenset((b"upgrade", b"connection", b"http2-settings"))
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class ServerLimits(msgspec.Struct, frozen=True):
    """What a peer may send and how long it may take."""

    max_header_bytes: int = 32768
    max_body_bytes: int = 32 << 20
    header_timeout: float = 10.0
    """Seconds from the first byte of a request to the last of its head."""
    body_timeout: float = 60.0
    """Seconds without a byte of the body."""
    keep_alive: float = 75.0
    """Seconds that an idle connection is kept."""
    write_buffer: int = 262144
    """Bytes waiting for a slow peer at which its answer is paused."""
    write_timeout: float = 300.0
    """Seconds for which a peer may not read while there is something to write."""


class ResponseListener(Protocol):
    """Hears what becomes of the peer while it is being answered."""

    def gone(self) -> None:
        """The peer left before the answer was complete."""

    def pause(self) -> None:
        """The peer reads slowly: send no more for now."""

    def resume(self) -> None:
        """The peer has caught up."""


class Request:
    """A request, complete with its body."""

    __slots__ = ("body", "fields", "method", "target")

    def __init__(self, method: str, target: bytes, fields: dict[bytes, bytes], body: bytes) -> None:
        self.method = method
        self.target = target
        """Path and query as they came."""
        self.fields = fields
        """Headers, names in lower case; the values of a repeated one are joined by a comma (RFC 9110, section 5.3)."""
        self.body = body

    @property
    def path(self) -> str:
        return self.target.partition(b"?")[0].decode("latin-1")

    @property
    def query(self) -> str:
        return self.target.partition(b"?")[2].decode("latin-1")

    @property
    def headers(self) -> Headers:
        return tuple(self.fields.items())

    def header(self, name: bytes) -> bytes:
        """The value of a header (name in lower case), ``b""`` where it is absent."""
        return self.fields.get(name, b"")


class Responder:
    """Writes the one response to a request. Writing to a peer that has left does nothing."""

    __slots__ = ("_chunked", "_connection", "_head_only", "_keep_alive", "_old_http", "_started", "closed", "listener")

    def __init__(self, connection: "_Connection", keep_alive: bool, head_only: bool = False, old_http: bool = False) -> None:
        self._connection: _Connection | None = connection
        self._keep_alive = keep_alive
        self._head_only = head_only  # the request was a HEAD: its response has no body
        self._old_http = old_http  # the peer speaks HTTP/1.0: streams end with the connection
        self._started = False
        self._chunked = False
        self.closed = False
        """The response is complete, or the peer has left."""
        self.listener: ResponseListener | None = None

    @property
    def started(self) -> bool:
        """The head has been sent."""
        return self._started

    def send(self, status: int, headers: Headers, body: bytes = b"") -> None:
        """A whole response; ``content-length`` is added."""
        connection = self._connection
        if connection is None:
            return
        self._started = True
        head = self._head(status, headers, b"content-length: %d\r\n" % len(body))
        if self._head_only:
            body = b""
        if len(body) < _CHUNK_BIG:
            connection.write(head + body)
        else:
            connection.writelines((head, body))
        self._finish()

    def start(self, status: int, headers: Headers, first: bytes = b"") -> None:
        """Begin a streamed response with its first piece; then ``write`` and ``end``.

        The body is chunked unless ``headers`` has a ``content-length``.
        """
        connection = self._connection
        if connection is None:
            return
        self._started = True
        sized = any(name == b"content-length" for name, _ in headers)
        self._chunked = not sized and not self._old_http
        if self._old_http and not sized:
            self._keep_alive = False
        head = self._head(status, headers, b"transfer-encoding: chunked\r\n" if self._chunked else b"")
        if not first or self._head_only:
            connection.write(head)
        elif self._chunked:
            connection.write(b"%b%x\r\n%b\r\n" % (head, len(first), first))
        else:
            connection.write(head + first)

    def write(self, data: bytes) -> None:
        """The next piece of a streamed body."""
        connection = self._connection
        if connection is None or not data or self._head_only:
            return
        if not self._chunked:
            connection.write(data)
        elif len(data) < _CHUNK_BIG:
            connection.write(b"%x\r\n%b\r\n" % (len(data), data))
        else:
            connection.writelines((b"%x\r\n" % len(data), data, b"\r\n"))

    def end(self, last: bytes = b"") -> None:
        """Complete a streamed response, with ``last`` as its last piece."""
        if last:
            self.write(last)
        connection = self._connection
        if connection is None:
            return
        if self._chunked and not self._head_only:
            connection.write(b"0\r\n\r\n")
        self._finish()

    def abort(self) -> None:
        """Cut the connection, so that the peer sees that the answer is broken."""
        connection = self._connection
        self.detach()
        if connection is not None:
            connection.abort()

    def detach(self) -> None:
        """Forget the connection: it has ended."""
        self._connection = None
        self.closed = True
        self.listener = None

    def _finish(self) -> None:
        connection, self._connection = self._connection, None
        self.closed = True
        self.listener = None
        if connection is not None:
            connection.answered(self._keep_alive)

    def _head(self, status: int, headers: Headers, framing: bytes) -> bytes:
        line = _STATUS_LINES.get(status) or b"HTTP/1.1 %d Status\r\n" % status
        assert self._connection is not None
        server = self._connection.server
        if server.draining:
            self._keep_alive = False
        head = [line]
        for name, value in headers:
            head += (name, b": ", value, b"\r\n")
        if not self._keep_alive:
            head.append(b"connection: close\r\n")
        head += (framing, server.date, b"\r\n")
        return b"".join(head)


Handler = Callable[[Request, Responder], None]


class _Connection(asyncio.Protocol, Timed):
    """One peer."""

    __slots__ = (
        "_backlog",
        "_body",
        "_closing",
        "_current",
        "_head_bytes",
        "_headers",
        "_in_head",
        "_late",
        "_lines",
        "_paused",
        "_parser",
        "_refused",
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
        self._backlog: deque[tuple[Request, Responder]] = deque()
        self._lines: list[tuple[bytes, bytes]] = []
        self._headers: dict[bytes, bytes] = {}
        self._target = b""
        self._body: list[bytes] = []
        self._size = 0
        self._head_bytes = 0
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
            self._wait_for_the_rest()

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
        head = b"%b %b HTTP/%b\r\n%b\r\n" % (method, self._target, version.encode(), fields)
        self._headers, self._target, self._lines = {}, b"", []
        self._in_head = True
        return head

    def _wait_for_the_rest(self) -> None:
        """A request has begun and is not complete: hold it to the limits. Most requests come whole and never get here."""
        limits = self.server.limits
        if self._in_head:
            if self._head_bytes > limits.max_header_bytes:
                self._refused = self._refused or 431
            elif self._current is None and not self._timed:
                self._timed = True
                self.server.wheel.set(self, limits.header_timeout)
        elif not self._late:
            announced = self._headers.get(b"content-length", b"0")
            if len(announced) > 15 or int(announced) > limits.max_body_bytes:
                self._refused = self._refused or 413
            elif self._headers.get(b"expect", b"").lower() == b"100-continue" and self._current is None and not self._body:
                self.write(_CONTINUE)
        elif len(self._lines) > MAX_FIELDS:
            self._refused = self._refused or 431
        if not self._in_head and self._current is None:
            self.server.wheel.set(self, limits.body_timeout)
        self._late = not self._in_head
        if self._refused:
            self._refuse(self._refused)

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
        self.deadline = math.inf
        if self._current is not None and self._current.listener is not None:
            self._current.listener.resume()
        elif self._current is None:
            self.server.wheel.set(self, self.server.limits.keep_alive)

    def expired(self) -> None:
        """Timed: the peer was silent for too long."""
        if self._writing_paused:
            self.abort()
        elif self._current is None and (self._head_bytes or self._body or not self._in_head):
            self._refuse(408)
        elif self._current is None:
            self.close()

    # -- llhttp's callbacks

    def on_url(self, url: bytes) -> None:
        self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._lines.append((name, value))

    def on_headers_complete(self) -> None:
        self._in_head = False
        lines, self._lines = self._lines, []  # lines that follow are trailers, which are of no use here
        headers = {name.lower(): value for name, value in lines}
        self._headers = headers if len(headers) == len(lines) else _joined(lines)
        limit = self.server.limits.max_header_bytes
        if len(lines) > MAX_FIELDS or (
            self._head_bytes > limit and sum(len(name) + len(value) for name, value in lines) + len(self._target) > limit
        ):
            self._refused = 431

    def on_body(self, body: bytes) -> None:
        self._size += len(body)
        if self._size > self.server.limits.max_body_bytes:
            self._refused = 413
            self._body.clear()
            return
        self._body.append(body)

    def on_message_complete(self) -> None:
        if self._refused:
            return
        parser, headers = self._parser, self._headers
        if b"upgrade" in headers and parser.should_upgrade():
            return  # ``_take_without_offer`` reads it again
        method = parser.get_method()
        if method == b"CONNECT":
            self._refused = 400
            return
        keep_alive = parser.should_keep_alive()
        old_http = (not keep_alive or b"connection" in headers) and parser.get_http_version() == "1.0"
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
        if self._lines:
            self._lines = []
        if self._current is None:
            self.deadline = math.inf
            self._current = responder
            self.server.handler(request, responder)
            return
        self._backlog.append((request, responder))
        if len(self._backlog) >= MAX_PIPELINED and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()

    # -- the responder's calls

    def write(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)

    def writelines(self, pieces: tuple[bytes, ...]) -> None:
        if self._transport is not None:
            self._transport.writelines(pieces)

    def answered(self, keep_alive: bool) -> None:
        """The current response is complete: close, rest, or go on with the next pipelined request."""
        self._current = None
        if not keep_alive or self.server.draining:
            self.close()
        elif self._backlog:
            asyncio.get_running_loop().call_soon(self._next)
        elif not self._writing_paused:
            self.server.wheel.set(self, self.server.limits.keep_alive)

    def _next(self) -> None:
        if self._current is not None or not self._backlog or self._closing:
            return
        request, self._current = self._backlog.popleft()
        if self._paused and self._transport is not None and len(self._backlog) < MAX_PIPELINED // 2:
            self._paused = False
            self._transport.resume_reading()
        self.server.handler(request, self._current)

    def busy(self) -> bool:
        """A request is being answered or received."""
        return self._current is not None or not self._in_head or self._head_bytes > 0

    def close(self) -> None:
        """Close once what was written has gone out."""
        self._closing = True
        if self._transport is not None:
            self.server.wheel.set(self, self.server.limits.write_timeout)
            self._transport.close()

    def abort(self) -> None:
        self._closing = True
        if self._transport is not None:
            self._transport.abort()

    def _refuse(self, status: int) -> None:
        """Answer what cannot be served as HTTP, unless an answer is under way, and close."""
        self._closing = True
        if self._current is None and self._transport is not None:
            responder = Responder(self, False)
            self._current = responder
            self.server.refuse(status, responder)
        self.close()


def _joined(lines: list[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """Headers of which some are repeated."""
    headers: dict[bytes, bytes] = {}
    for field, value in lines:
        name = field.lower()
        headers[name] = value if name not in headers else headers[name] + b", " + value
    return headers


def _plain_refusal(status: int, responder: Responder) -> None:
    responder.send(status, ((b"content-type", b"text/plain"),), HTTPStatus(status).phrase.encode())


class HttpServer:
    """Serves ``handler`` on any number of listening sockets, TCP or Unix. Create it on the running loop.

    ``refuse`` answers what never became a request: 400 malformed, 408 too slow, 413 and 431 too large.
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
        self._servers: list[asyncio.Server] = []
        self._clock: asyncio.TimerHandle | None = None
        self._tell_time()

    async def listen(self, sock: socket.socket) -> None:
        """Accept on a socket that is bound and listening."""
        if sock.family == socket.AF_UNIX:
            self._servers.append(await self._loop.create_unix_server(lambda: _Connection(self), sock=sock, backlog=4096))
        else:
            self._servers.append(await self._loop.create_server(lambda: _Connection(self), sock=sock, backlog=4096))

    async def drain(self, grace: float) -> None:
        """Accept no more, let running requests finish for at most ``grace`` seconds, then close.

        An idle connection is kept for ``LINGER`` more, so that a request that is on its way already is answered and told to close.
        """
        self.draining = True
        for server in self._servers:
            server.close()
        now = self._loop.time()
        deadline, linger = now + grace, now + min(grace, LINGER)
        while self.connections and now < deadline:
            for connection in list(self.connections):
                if now >= linger and not connection.busy():
                    connection.close()
            await asyncio.sleep(0.02)
            now = self._loop.time()
        await self.close()

    async def close(self) -> None:
        """Cut all connections and stop listening."""
        self.draining = True
        for server in self._servers:
            server.close()
        for connection in list(self.connections):
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
