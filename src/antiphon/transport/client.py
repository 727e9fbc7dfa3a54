"""A pooled HTTP/1.1 client of callbacks: one pool per origin, no task per call once a connection stands."""

import asyncio
import logging
import math
import random
from collections import deque
from typing import Any, Final, Protocol

import httptools

from antiphon.core.errors import (
    AntiphonError,
    InternalError,
    QueueFull,
    UpstreamBroken,
    UpstreamTimeout,
    UpstreamUnreachable,
)
from antiphon.core.types import Headers
from antiphon.transport.deadlines import DeadlineWheel, Timed
from antiphon.transport.dialing import Dialer, Route
from antiphon.transport.fairness import LARGE_READ, read_in_turn, rest_a_turn
from antiphon.transport.limits import ClientTimeouts
from antiphon.transport.origin import Origin
from antiphon.transport.proxies import Proxy, refusal

__all__ = ["ClientPool", "ClientTimeouts", "Exchange", "Origin", "Receiver", "Route"]

STALE_WINDOW: Final = 1.0
"""Seconds in which a reused connection that closes without a byte of answer counts as stale: the peer ended it as we wrote."""

MAX_HEAD: Final = 1 << 18
"""Bytes that the head of an answer may have, together with informational answers before it; trailers may have as many."""

log = logging.getLogger(__name__)

_BODY_BIG: Final = 16384
_HOP_BY_HOP: Final = frozenset(
    (b"connection", b"keep-alive", b"transfer-encoding", b"content-length", b"proxy-connection", b"upgrade", b"trailer", b"te")
)


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


class _Connection(Timed):
    """One connection to the origin, used for one exchange at a time. An asyncio protocol by its methods, as the server's is."""

    __slots__ = (
        "_chunks",
        "_complete",
        "_exchange",
        "_headed",
        "_keep_alive",
        "_lines",
        "_parser",
        "_paused",
        "_pool",
        "_quiet",
        "_retire_at",
        "_reused",
        "_seen",
        "_sent_at",
        "_sized",
        "_spent",
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
        self._spent = False  # fit for no other exchange: too old, or it has said more than it was asked
        self._quiet = 0
        self._keep_alive = False
        self._reused = False
        self._paused = False
        self._sent_at = 0.0
        self._retire_at = math.inf

    def send(self, exchange: Exchange) -> None:
        """Write a request; the connection is idle."""
        transport = self._transport
        assert transport is not None
        self._exchange = exchange
        exchange.connection = self
        self._seen = self._complete = self._sized = self._headed = False
        self._quiet = 0
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
            timeouts = self._pool.timeouts
            self._pool.wheel.set(self, timeouts.idle if self._headed else timeouts.first_byte)
            read_in_turn(self)

    def retire(self) -> None:
        """Serve no other exchange; close at once where there is none."""
        self._spent = True
        if self._exchange is None and self._transport is not None:
            self._transport.close()

    def expired(self) -> None:
        """Timed: the server was silent for too long, or the idle connection has been kept long enough."""
        exchange, self._exchange = self._exchange, None
        self.abandon()
        if exchange is not None:
            timeouts = self._pool.timeouts
            what, seconds = (
                ("between two pieces of its answer", timeouts.idle) if self._headed else ("before its answer", timeouts.first_byte)
            )
            exchange.fail(UpstreamTimeout(f"{self._pool.origin} was silent for {seconds:g} s {what}"))

    # -- the server's bytes

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # uvloop's transports are not subclasses of asyncio.Transport

    def pause_writing(self) -> None: ...  # a request is written in one go, so there is nobody to hold back

    def resume_writing(self) -> None: ...

    def data_received(self, data: bytes) -> None:
        exchange = self._exchange
        if exchange is None:
            self.abandon()  # bytes that nobody asked for: this connection cannot be trusted any more
            return
        self._seen = True
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserCallbackError as error:
            self._fail_inside(error.__context__ or error)
            return
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            if not self._complete:
                self._break(UpstreamBroken(f"{self._pool.origin} sent what is not HTTP/1.1: {error}"))
                return
            self._spent = True
        chunks = self._chunks
        if not chunks:
            self._quiet += len(data)
        else:
            self._quiet = 0
            self._chunks = []
            try:
                if exchange.receiver is not None:
                    exchange.receiver.data(chunks[0] if len(chunks) == 1 else b"".join(chunks))
            except Exception as error:  # the border to whoever receives: its fault must end the call, never leave it hanging
                self._fail_inside(error)
                return
        if self._complete:
            self._finish()
        elif self._quiet > MAX_HEAD:
            what = "trailers" if self._headed else "a head"
            self._break(UpstreamBroken(f"{self._pool.origin} sent {what} of more than {MAX_HEAD >> 10} KiB"))
        elif self._headed:
            self._pool.wheel.set(self, math.inf if self._paused else self._pool.timeouts.idle)
            if len(data) >= LARGE_READ:
                rest_a_turn(self)

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
        stale = self._reused and not self._seen and self._pool.wheel.now - self._sent_at < STALE_WINDOW
        if stale and not exchange.retried and exchange.receiver is not None:
            exchange.retried = True
            exchange.connection = None
            self._pool.connect(exchange)
            return
        exchange.fail(self._closed(exc))

    def _closed(self, exc: Exception | None) -> AntiphonError:
        when = "in the middle of its answer" if self._seen else "before it answered"
        if isinstance(exc, TimeoutError):
            return UpstreamTimeout(f"{self._pool.origin} acknowledged nothing any more {when}")
        # with TLS 1.3 a client learns only now that its certificate was wanted, and asyncio keeps the server's word to itself
        unmet = self._pool.origin.scheme == "https" and not self._seen and not self._reused
        remedy = "it may want a certificate, which the provider's client_cert names" if unmet else ""
        return UpstreamBroken(f"{self._pool.origin} closed the connection {when}", remedy=remedy)

    def _break(self, error: AntiphonError) -> None:
        exchange, self._exchange = self._exchange, None
        self.abandon()
        if exchange is not None:
            exchange.fail(error)

    def _finish(self) -> None:
        exchange, self._exchange = self._exchange, None
        transport = self._transport
        if transport is not None:
            reusable = self._keep_alive and not self._spent and not transport.is_closing() and not transport.get_write_buffer_size()
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
        if self._complete:
            self._spent = True  # a second answer to one request: nobody asked for it

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._headed:  # what comes later are trailers, or an answer that nobody asked for
            self._lines.append((name, value))

    def on_headers_complete(self) -> None:
        if self._complete:
            return
        lines, self._lines = self._lines, []
        status = self._parser.get_status_code()
        if 100 <= status < 200:
            if _sized(lines):
                self._break(UpstreamBroken(f"{self._pool.origin} sent an informational answer with a body"))
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


class _ForwardedConnection(_Connection):
    """A connection to a proxy that passes whole requests on, and answers itself where it will not or cannot."""

    __slots__ = ("_proxy",)

    def __init__(self, pool: "ClientPool", proxy: Proxy) -> None:
        super().__init__(pool)
        self._proxy = proxy

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status == 407 or (status in (502, 503, 504) and not _is_json(self._lines)):
            self._break(refusal(status, self._proxy, self._pool.origin))
        else:
            super().on_headers_complete()


def _is_json(lines: list[tuple[bytes, bytes]]) -> bool:
    return any(name.lower() == b"content-type" and b"json" in value.lower() for name, value in lines)


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
        route: Route | None = None,
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
        self._dialer = Dialer(origin, route or Route())
        self._ages = _Ages(self)
        self._host = f" HTTP/1.1\r\nhost: {origin.authority}\r\n".encode()
        self._root = ""
        self.forwarding = self._dialer.forwarding
        """The proxy that passes the requests on; None where there is none, or it only opens tunnels."""
        if self.forwarding is not None:
            self._root = f"http://{origin.authority}"
            self._host += self.forwarding.header

    def request(self, method: str, path: str, headers: Headers, body: bytes, receiver: Receiver) -> Exchange:
        """Send a request. Never raises: what goes wrong is told to ``receiver.broken``."""
        return self.send(b"%bcontent-length: %d\r\n\r\n" % (self.prepare(method, path, headers), len(body)), body, receiver)

    def prepare(self, method: str, path: str, headers: Headers) -> bytes:
        """The part of a request's head that is the same for many calls, for ``request_prepared``."""
        fields = b"".join([b"%b: %b\r\n" % field for field in headers])
        return b"%b %b%b%b" % (method.encode(), (self._root + path).encode(), self._host, fields)

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
            exchange.fail(self._shut())
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
        task.add_done_callback(self._connected)

    def _connected(self, task: "asyncio.Task[None]") -> None:
        self._connecting.discard(task)
        self._serve_waiting()

    async def _connect(self, exchange: Exchange) -> None:
        connection = _Connection(self) if self.forwarding is None else _ForwardedConnection(self, self.forwarding)
        protocol: Any = connection
        try:
            await self._dialer.dial(lambda: protocol, self.timeouts.connect)
        except UpstreamUnreachable as error:
            connection._parser = None  # as in connection_lost, which this one never comes to
            exchange.fail(error)
            return
        except asyncio.CancelledError:
            connection._parser = None
            exchange.fail(self._shut())
            raise
        if connection._transport is None:  # the server took the connection and closed it at once
            exchange.fail(connection._closed(None))
            return
        self._all.add(connection)
        if self.timeouts.max_age < math.inf and not self.origin.socket_path:
            self._ages.watch(connection)
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
        while self._waiting and not self.closed and len(self._all) + len(self._connecting) < self.max_connections:
            exchange = self._waiting.popleft()
            if exchange.receiver is not None:
                self.connect(exchange)

    def _shut(self) -> UpstreamUnreachable:
        return UpstreamUnreachable(f"the connections to {self.origin} are closed")

    @property
    def room(self) -> int:
        """Exchanges that can begin now without waiting for another one to end."""
        return self.max_connections - len(self._all) - len(self._connecting) + len(self._idle)

    @property
    def busy(self) -> bool:
        """An exchange is under way or waits."""
        return bool(self._waiting or self._connecting) or len(self._all) > len(self._idle)

    async def close(self) -> None:
        """Close all connections; running exchanges fail."""
        self.closed = True
        for task in list(self._connecting):
            task.cancel()
        while self._waiting:
            self._waiting.popleft().fail(self._shut())
        for connection in list(self._all):
            if connection._transport is not None:
                connection._transport.abort()
        await asyncio.sleep(0)


class _Ages(Timed):
    """Looks now and then for connections of a pool that have reached their age."""

    __slots__ = ("_period", "_pool")

    def __init__(self, pool: ClientPool) -> None:
        Timed.__init__(self)
        self._pool = pool
        self._period = pool.timeouts.max_age / 10

    def watch(self, connection: _Connection) -> None:
        """Retire ``connection`` at its age, less up to a tenth by chance: what began together need not end together."""
        pool = self._pool
        connection._retire_at = pool.now() + pool.timeouts.max_age * (1 - random.random() / 10)  # noqa: S311  # no secret
        if self.deadline == math.inf:
            pool.wheel.set(self, self._period)

    def expired(self) -> None:
        """Timed: it is time to look."""
        pool, now = self._pool, self._pool.now()
        for connection in list(pool._all):
            if connection._retire_at <= now:
                connection.retire()
        if pool._all:
            pool.wheel.set(self, self._period)
