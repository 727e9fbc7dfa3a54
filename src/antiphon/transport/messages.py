"""A request as handlers get it, and the writer of the one response to it."""

from http import HTTPStatus
from typing import Final, Protocol

from antiphon.core.types import Headers

_STATUS_LINES: Final = {s.value: f"HTTP/1.1 {s.value} {s.phrase}\r\n".encode() for s in HTTPStatus}
_CHUNK_BIG: Final = 16384


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


class Sender(Protocol):
    """The server, as far as a response has to know it."""

    draining: bool
    date: bytes


class Peer(Protocol):
    """The connection that a response goes out on."""

    @property
    def server(self) -> Sender: ...
    def write(self, data: bytes) -> None: ...
    def writelines(self, pieces: tuple[bytes, ...]) -> None: ...
    def answered(self, keep_alive: bool) -> None: ...
    def abort(self) -> None: ...


class Responder:
    """Writes the one response to a request. Writing to a peer that has left does nothing."""

    __slots__ = ("_chunked", "_connection", "_head_only", "_keep_alive", "_old_http", "_started", "closed", "listener")

    def __init__(self, connection: Peer, keep_alive: bool, head_only: bool = False, old_http: bool = False) -> None:
        self._connection: Peer | None = connection
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
