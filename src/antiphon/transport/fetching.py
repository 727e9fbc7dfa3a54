"""A whole answer, awaited: for whoever asks seldom."""

import asyncio

import msgspec

from antiphon.core.errors import AntiphonError
from antiphon.core.types import Headers
from antiphon.transport.client import ClientPool


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
        del exchange, future  # an error that the future holds has this frame in its trace
