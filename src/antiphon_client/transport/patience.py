"""Time-outs that shrink as a deadline comes near, and blocking connections that keep to them.

A blocking socket takes one time-out per operation, so a server that drips one byte after the other would never run into it. Here
every single read and write waits no longer than until the deadline. Resolving a name blocks for as long as the system lets it.
"""

import contextlib
import selectors
import socket
import ssl
import time
from collections.abc import Iterable, Iterator
from typing import Any, Self

import httpcore2


class Patience(float):
    """Seconds that one operation may take, but not longer than until ``ends_at`` (``time.monotonic()``)."""

    ends_at: float

    def __new__(cls, seconds: float, ends_at: float) -> Self:
        made = super().__new__(cls, seconds)
        made.ends_at = ends_at
        return made

    @property
    def left(self) -> float:
        """Seconds that are left for an operation that begins now."""
        return min(float(self), self.ends_at - time.monotonic())


class PatientStream(httpcore2.NetworkStream):
    """A connection whose every operation looks at the deadline."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        with _failing_as(httpcore2.ReadError, httpcore2.ReadTimeout):
            self._sock.settimeout(_left(timeout))
            return self._sock.recv(max_bytes)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        rest = memoryview(buffer)
        with _failing_as(httpcore2.WriteError, httpcore2.WriteTimeout):
            while rest:
                self._sock.settimeout(_left(timeout))
                rest = rest[self._sock.send(rest) :]

    def close(self) -> None:
        self._sock.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        with _failing_as(httpcore2.ConnectError, httpcore2.ConnectTimeout), _closing_on_failure(self._sock):
            self._sock.settimeout(_left(timeout))
            return PatientStream(ssl_context.wrap_socket(self._sock, server_hostname=server_hostname))

    def get_extra_info(self, info: str) -> Any:
        if info == "socket":
            return self._sock
        return _is_readable(self._sock) if info == "is_readable" else None


class PatientBackend(httpcore2.NetworkBackend):
    """Opens such connections."""

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        """Try one address of the host after the other. The last two parameters are not used here."""
        with _failing_as(httpcore2.ConnectError, httpcore2.ConnectTimeout):
            failed: OSError = OSError(f"{host} has no address")
            for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
                try:
                    connected = _connected(socket.socket(family, kind, protocol), address, timeout)
                except OSError as error:
                    failed = error
                else:
                    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    return PatientStream(connected)
            raise failed

    def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None
    ) -> httpcore2.NetworkStream:
        with _failing_as(httpcore2.ConnectError, httpcore2.ConnectTimeout):
            return PatientStream(_connected(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM), path, timeout))


def _connected(sock: socket.socket, address: Any, timeout: float | None) -> socket.socket:
    with _closing_on_failure(sock):
        sock.settimeout(_left(timeout))
        sock.connect(address)
    return sock


def _left(timeout: float | None) -> float | None:
    """What a socket takes. Raises TimeoutError where nothing is left."""
    left = timeout.left if isinstance(timeout, Patience) else timeout
    if left is not None and left <= 0:
        raise TimeoutError
    return left


def _is_readable(sock: socket.socket) -> bool:
    """Whether something is there to read; of a connection that idles that is its end."""
    if sock.fileno() < 0:
        return True
    with contextlib.suppress(OSError, ValueError), selectors.DefaultSelector() as selector:
        selector.register(sock, selectors.EVENT_READ)
        return bool(selector.select(0))
    return True


@contextlib.contextmanager
def _closing_on_failure(sock: socket.socket) -> Iterator[None]:
    try:
        yield
    except BaseException:
        sock.close()
        raise


@contextlib.contextmanager
def _failing_as(kind: type[Exception], late: type[Exception]) -> Iterator[None]:
    """What the system raises as what the pool of connections expects."""
    try:
        yield
    except TimeoutError as error:
        raise late(error) from error
    except OSError as error:
        raise kind(error) from error
