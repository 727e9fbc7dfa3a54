"""A pooled HTTP/1.1 client of callbacks: one pool per origin, no task per call once a connection stands."""

import asyncio
import logging
import math
import ssl
from collections import deque
from typing import Any, Protocol
from urllib.parse import urlsplit

import httptools
import msgspec

from antiphon.core.errors import (
    AntiphonError,
    ConfigError,
    InternalError,
    QueueFull,
    UpstreamBroken,
    UpstreamTimeout,
    UpstreamUnreachable,
)
from antiphon.core.types import Headers
from antiphon.transport.deadlines import DeadlineWheel, Timed

STALE_WINDOW = 1.0
"""Seconds in which a reused connection that closes without a byte of answer counts as stale: the peer ended it as we wrote."""

MAX_HEAD = 1 << 18
"""Bytes that the head of an answer may have."""

log = logging.getLogger(__name__)

_BODY_BIG = 16384
_HOP_BY_HOP = frozenset(
    (b"connection", b"keep-alive", b"transfer-encoding", b"content-length", b"proxy-connection", b"upgrade", b"trailer", b"te")
)


class Origin(msgspec.Struct, frozen=True):
    """Where a server is: a host and port, or a Unix socket."""

    scheme: str = "http"
    host: str = ""
    port: int = 80
    socket_path: str = ""

    @classmethod
    def parse(cls, url: str) -> "Origin":
        """The origin of an ``http`` or ``https`` address. Raises ConfigError for anything else."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(f'"{url}" is not an address', remedy="write it as https://host/path or http://host:port/path")
        return cls(parts.scheme, parts.hostname, parts.port or (443 if parts.scheme == "https" else 80))

    @property
    def authority(self) -> str:
        """The ``host`` header's value."""
        if self.socket_path:
            return "localhost"
        host = f"[{self.host}]" if ":" in self.host else self.host
        default = 443 if self.scheme == "https" else 80
        return host if self.port == default else f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"unix:{self.socket_path}" if self.socket_path else f"{self.scheme}://{self.authority}"


class ClientTimeouts(msgspec.Struct, frozen=True):
    """How long a server may be silent, in seconds."""

    connect: float = 5.0
    first_byte: float = 120.0
    """From the request to the first byte of its answer."""
    idle: float = 60.0
    """Between two pieces of an answer."""
    keep_alive: float = 30.0
    """How long an idle connection is kept for the next call."""


class Receiver(Protocol):
    """Takes one answer: the head, pieces of the body, then ``complete`` or ``broken`` exactly once."""

    def head(self, status: int, headers: Headers) -> None: ...
    def data(self, chunk: bytes) -> None: ...
    def complete(self) -> None: ...
    def broken(self, error: AntiphonError) -> None: ...


class Exchange:
    """A request under way."""

    __slots__ = ("_paused", "body", "connection", "head", "pool", "receiver", "retried")

    def __init__(self, pool: "ClientPool", head: bytes, body: bytes, receiver: Receiver) -> None:
        self.pool = pool
        self.head = head
        self.body = body
        self.receiver: Receiver | None = receiver
        self.connection: _Connection | None = None
        self.retried = False
        self._paused = False

    def cancel(self) -> None:
        """Forget the answer and close the connection; the receiver hears nothing more."""
        self.receiver = None
        connection, self.connection = self.connection, None
        if connection is not None:
            connection.abandon()

    def pause(self) -> None:
        """Read no more of the answer for now."""
        self._paused = True
        if self.connection is not None:
            self.connection.pause()

    def resume(self) -> None:
        self._paused = False
        if self.connection is not None:
            self.connection.resume()

    def fail(self, error: AntiphonError) -> None:
        receiver, self.receiver = self.receiver, None
        self.connection = None
        if receiver is not None:
            receiver.broken(error)


class _Connection(asyncio.Protocol, Timed):
    """One connection to the origin, used for one exchange at a time."""

    __slots__ = (
        "_chunks",
        "_complete",
        "_exchange",
        "_head_bytes",
        "_headed",
        "_keep_alive",
        "_lines",
        "_parser",
        "_paused",
        "_pool",
        "_reused",
        "_seen",
        "_sent_at",
        "_sized",
        "_surplus",
        "_transport",
    )

    def __init__(self, pool: "ClientPool") -> None:
        Timed.__init__(self)
        self._pool = pool
        self._transport: asyncio.Transport | None = None
        self._parser: Any = httptools.HttpResponseParser(self)
        self._exchange: Exchange | None = None
        self._lines: list[tuple[bytes, bytes]] = []
        self._chunks: list[bytes] = []
        self._sized = False
        self._seen = False
        self._complete = False
        self._headed = False
        self._surplus = False
        self._head_bytes = 0
        self._keep_alive = False
        self._reused = False
        self._paused = False
        self._sent_at = 0.0

    def send(self, exchange: Exchange) -> None:
        """Write a request; the connection is idle."""
        transport = self._transport
        assert transport is not None
        self._exchange = exchange
        exchange.connection = self
        self._seen = self._complete = self._sized = self._headed = self._surplus = False
        self._head_bytes = 0
        pool = self._pool
        pool.wheel.set(self, pool.timeouts.first_byte)
        self._sent_at = self.deadline - pool.timeouts.first_byte
        if len(exchange.body) < _BODY_BIG:
            transport.write(exchange.head + exchange.body)
        else:
            transport.writelines((exchange.head, exchange.body))
        if exchange._paused:
            self.pause()

    def abandon(self) -> None:
        self._exchange = None
        if self._transport is not None:
            self._transport.abort()

    def pause(self) -> None:
        if not self._paused and self._transport is not None:
            self._paused = True
            self.deadline = math.inf
            self._transport.pause_reading()

    def resume(self) -> None:
        if self._paused and self._transport is not None:
            self._paused = False
            self._pool.wheel.set(self, self._pool.timeouts.idle)
            self._transport.resume_reading()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def expired(self) -> None:
        """Timed: the server was silent for too long, or the idle connection has been kept long enough."""
        exchange, self._exchange = self._exchange, None
        self.abandon()
        if exchange is not None:
            timeouts = self._pool.timeouts
            what, seconds = (
                ("between two pieces of its answer", timeouts.idle) if self._seen else ("before its answer", timeouts.first_byte)
            )
            exchange.fail(UpstreamTimeout(f"{self._pool.origin} was silent for {seconds:g} s {what}"))

    # -- the server's bytes

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # uvloop's transports are not subclasses of asyncio.Transport

    def data_received(self, data: bytes) -> None:
        exchange = self._exchange
        if exchange is None:
            self.abandon()  # bytes that nobody asked for: this connection cannot be trusted any more
            return
        self._seen = True
        if not self._headed:
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
            chunks = self._chunks
            if chunks:
                self._chunks = []
                if exchange.receiver is not None:
                    exchange.receiver.data(chunks[0] if len(chunks) == 1 else b"".join(chunks))
        except httptools.HttpParserCallbackError as error:
            self._fail_inside(error.__context__ or error)
            return
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            if not self._complete:
                self._break(UpstreamBroken(f"{self._pool.origin} sent what is not HTTP/1.1: {error}"))
                return
            self._surplus = True
        except Exception as error:  # the border to whoever receives: its fault must end the call, never leave it hanging
            self._fail_inside(error)
            return
        if self._complete:
            self._finish()
        elif not self._headed and self._head_bytes > MAX_HEAD:
            self._break(UpstreamBroken(f"{self._pool.origin} sent a head of more than {MAX_HEAD >> 10} KiB"))
        else:
            self._pool.wheel.set(self, math.inf if self._paused else self._pool.timeouts.idle)

    def _fail_inside(self, error: BaseException) -> None:
        self._break(self._fault(error))

    def _fault(self, error: BaseException) -> InternalError:
        """What a call hears of a fault in whoever receives it; the log has the rest."""
        log.error("an answer of %s could not be taken", self._pool.origin, exc_info=error)
        return InternalError()

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self.deadline = math.inf
        self._parser = None  # parser and connection hold each other; let go, so that both are freed at once
        self._pool.lost(self)
        exchange = self._exchange
        if exchange is None:
            return
        if self._headed and not self._sized and exc is None:
            self._finish()  # a body that ends with its connection
            return
        self._exchange = None
        stale = self._reused and not self._seen and self._pool.now() - self._sent_at < STALE_WINDOW
        if stale and not exchange.retried and exchange.receiver is not None:
            exchange.retried = True
            exchange.connection = None
            self._pool.connect(exchange)
            return
        when = "in the middle of its answer" if self._seen else "before it answered"
        exchange.fail(UpstreamBroken(f"{self._pool.origin} closed the connection {when}"))

    def _break(self, error: AntiphonError) -> None:
        exchange, self._exchange = self._exchange, None
        self.abandon()
        if exchange is not None:
            exchange.fail(error)

    def _finish(self) -> None:
        exchange, self._exchange = self._exchange, None
        transport = self._transport
        if transport is not None:
            reusable = (
                self._keep_alive and not self._surplus and not transport.is_closing() and not transport.get_write_buffer_size()
            )
            if self._paused:
                self._paused = False
                transport.resume_reading()
            if reusable and not self._pool.closed:
                self._reused = True
                self._pool.wheel.set(self, self._pool.timeouts.keep_alive)
                self._pool.rest(self)
            else:
                transport.close()
        if exchange is not None:
            receiver, exchange.receiver = exchange.receiver, None
            exchange.connection = None
            if receiver is not None:
                try:
                    receiver.complete()
                except Exception as error:  # as in data_received
                    receiver.broken(self._fault(error))

    # -- llhttp's callbacks

    def on_message_begin(self) -> None:
        self._surplus = self._complete  # a second answer to one request: nobody asked for it

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._headed:  # what comes later are trailers, or an answer that nobody asked for
            self._lines.append((name, value))

    def on_headers_complete(self) -> None:
        if self._complete:
            return
        lines, self._lines = self._lines, []
        status = self._parser.get_status_code()
        if status < 200:
            return
        self._headed = True
        exchange = self._exchange
        if exchange is not None and exchange.receiver is not None:
            kept = [(name, value) for line, value in lines if (name := line.lower()) not in _HOP_BY_HOP]
            self._sized = len(kept) < len(lines) and _sized(lines)
            exchange.receiver.head(status, tuple(kept))

    def on_body(self, body: bytes) -> None:
        if not self._complete:
            self._chunks.append(body)

    def on_message_complete(self) -> None:
        if self._headed and not self._complete:
            self._complete = True
            self._keep_alive = self._parser.should_keep_alive()  # llhttp forgets it once this callback has returned


def _sized(lines: list[tuple[bytes, bytes]]) -> bool:
    """Whether the body tells its own end; otherwise it ends with the connection (RFC 9112, section 6.3)."""
    for line, value in lines:
        name = line.lower()
        if name == b"content-length" or (name == b"transfer-encoding" and b"chunked" in value.lower()):
            return True
    return False


class ClientPool:
    """Connections to one origin, kept alive and used again, the latest first. Create it on the running loop."""

    def __init__(
        self,
        origin: Origin,
        timeouts: ClientTimeouts | None = None,
        max_connections: int = 1024,
        wheel: DeadlineWheel | None = None,
    ) -> None:
        self.origin = origin
        self.timeouts = timeouts or ClientTimeouts()
        self.max_connections = max_connections
        self.closed = False
        self._loop = asyncio.get_running_loop()
        self.now = self._loop.time
        self.wheel = wheel or DeadlineWheel(self._loop)
        self._idle: list[_Connection] = []
        self._all: set[_Connection] = set()
        self._waiting: deque[Exchange] = deque()
        self._connecting: set[asyncio.Task[None]] = set()
        self._tls = ssl.create_default_context() if origin.scheme == "https" else None
        self._host = f" HTTP/1.1\r\nhost: {origin.authority}\r\n".encode()

    def request(self, method: str, path: str, headers: Headers, body: bytes, receiver: Receiver) -> Exchange:
        """Send a request. Never raises: what goes wrong is told to ``receiver.broken``."""
        fields = b"".join([b"%b: %b\r\n" % field for field in headers])
        return self.send(
            b"%b %b%b%bcontent-length: %d\r\n\r\n" % (method.encode(), path.encode(), self._host, fields, len(body)), body, receiver
        )

    def prepare(self, method: str, path: str, headers: Headers) -> bytes:
        """The part of a request's head that is the same for many calls, for ``request_prepared``."""
        fields = b"".join([b"%b: %b\r\n" % field for field in headers])
        return b"%b %b%b%b" % (method.encode(), path.encode(), self._host, fields)

    def request_prepared(self, prepared: bytes, extra: bytes, body: bytes, receiver: Receiver) -> Exchange:
        """Send a request whose head begins with ``prepared``; ``extra`` is more header lines, each ending in CRLF."""
        return self.send(b"%b%bcontent-length: %d\r\n\r\n" % (prepared, extra, len(body)), body, receiver)

    def send(self, head: bytes, body: bytes, receiver: Receiver) -> Exchange:
        """Send a request whose head is complete."""
        exchange = Exchange(self, head, body, receiver)
        idle = self._idle
        while idle:
            connection = idle.pop()
            transport = connection._transport
            if transport is not None and not transport.is_closing():
                connection.send(exchange)
                return exchange
        if self.closed:
            exchange.fail(UpstreamUnreachable(f"the connections to {self.origin} are closed"))
        else:
            self.connect(exchange)
        return exchange

    def connect(self, exchange: Exchange) -> None:
        """Give ``exchange`` a new connection, or let it wait where there are as many as allowed."""
        if len(self._all) + len(self._connecting) >= self.max_connections:
            if len(self._waiting) >= self.max_connections:
                exchange.fail(
                    QueueFull(
                        f"{self.max_connections} calls to {self.origin} are under way and as many wait",
                        remedy="try again later or raise max_connections of this provider",
                        retry_after=1.0,
                    )
                )
            else:
                self._waiting.append(exchange)
            return
        task = self._loop.create_task(self._connect(exchange))
        self._connecting.add(task)
        task.add_done_callback(self._connecting.discard)

    async def _connect(self, exchange: Exchange) -> None:
        connection = _Connection(self)
        origin = self.origin
        try:
            async with asyncio.timeout(self.timeouts.connect):
                if origin.socket_path:
                    await self._loop.create_unix_connection(lambda: connection, origin.socket_path)
                else:
                    await self._loop.create_connection(lambda: connection, origin.host, origin.port, ssl=self._tls)
        except TimeoutError:
            exchange.fail(UpstreamUnreachable(f"{origin} did not take a connection within {self.timeouts.connect:g} s"))
            self._serve_waiting()
            return
        except OSError as error:
            exchange.fail(UpstreamUnreachable(f"{origin} cannot be reached: {error.strerror or error}"))
            self._serve_waiting()
            return
        self._all.add(connection)
        if exchange.receiver is not None:
            connection.send(exchange)
        else:
            connection._reused = True
            self.wheel.set(connection, self.timeouts.keep_alive)
            self.rest(connection)

    def rest(self, connection: _Connection) -> None:
        """A connection is free again: the next waiting call takes it, or it idles."""
        while self._waiting:
            exchange = self._waiting.popleft()
            if exchange.receiver is not None:
                connection.send(exchange)
                return
        self._idle.append(connection)

    def lost(self, connection: _Connection) -> None:
        """A connection has ended."""
        self._all.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)
        self._serve_waiting()

    def _serve_waiting(self) -> None:
        while self._waiting and not self.closed:
            exchange = self._waiting.popleft()
            if exchange.receiver is not None:
                self.connect(exchange)
                return

    async def close(self) -> None:
        """Close all connections; running exchanges fail."""
        self.closed = True
        for task in list(self._connecting):
            task.cancel()
        while self._waiting:
            self._waiting.popleft().fail(UpstreamUnreachable(f"the connections to {self.origin} are closed"))
        for connection in list(self._all):
            if connection._transport is not None:
                connection._transport.abort()
        await asyncio.sleep(0)


class Response(msgspec.Struct, frozen=True):
    """A whole answer."""

    status: int
    headers: Headers
    body: bytes


class _Collector:
    """Receives an answer for ``fetch``."""

    def __init__(self, future: "asyncio.Future[Response]") -> None:
        self._future = future
        self._status = 0
        self._headers: Headers = ()
        self._body: list[bytes] = []

    def head(self, status: int, headers: Headers) -> None:
        self._status, self._headers = status, headers

    def data(self, chunk: bytes) -> None:
        self._body.append(chunk)

    def complete(self) -> None:
        if not self._future.done():
            self._future.set_result(Response(self._status, self._headers, b"".join(self._body)))

    def broken(self, error: AntiphonError) -> None:
        if not self._future.done():
            self._future.set_exception(error)


async def fetch(pool: ClientPool, method: str, path: str, headers: Headers = (), body: bytes = b"") -> Response:
    """A whole answer, awaited: for slow paths. Raises the UpstreamError that ended it."""
    future: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
    exchange = pool.request(method, path, headers, body, _Collector(future))
    try:
        return await future
    finally:
        if not future.done() or future.cancelled():
            exchange.cancel()
