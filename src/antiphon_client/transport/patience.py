"""Time-outs that shrink as a deadline comes near, and connections that keep to them.

A blocking socket takes one time-out per operation, so a server that drips one byte after the other would never run into it. Here
every single read and write waits no longer than until the deadline. Resolving a name blocks for as long as the system lets it.
"""

import ssl
import time
from collections.abc import Iterable
from typing import Any, Self

import httpcore2

_SLICE = 1 << 16
"""Bytes that are written before the clock is looked at again."""


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


def _left(timeout: float | None, too_late: type[httpcore2.TimeoutException]) -> float | None:
    if not isinstance(timeout, Patience):
        return timeout
    if (left := timeout.left) <= 0:
        raise too_late
    return left


class PatientStream(httpcore2.NetworkStream):
    """A connection whose every operation looks at the deadline."""

    def __init__(self, stream: httpcore2.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _left(timeout, httpcore2.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _SLICE):
            self._stream.write(buffer[start : start + _SLICE], _left(timeout, httpcore2.WriteTimeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        return PatientStream(self._stream.start_tls(ssl_context, server_hostname, _left(timeout, httpcore2.ConnectTimeout)))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class PatientBackend(httpcore2.NetworkBackend):
    """Opens such connections."""

    def __init__(self) -> None:
        self._backend = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        left = _left(timeout, httpcore2.ConnectTimeout)
        return PatientStream(self._backend.connect_tcp(host, port, left, local_address, socket_options))

    def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None
    ) -> httpcore2.NetworkStream:
        left = _left(timeout, httpcore2.ConnectTimeout)
        return PatientStream(self._backend.connect_unix_socket(path, left, socket_options))
