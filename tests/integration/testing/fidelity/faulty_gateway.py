"""A gateway with one fault: it stands in front of a right one, over real HTTP, and spoils what passes."""

from collections.abc import Callable

import msgspec

from antiphon.core.errors import AntiphonError
from antiphon.core.types import Headers
from antiphon.transport import sse
from antiphon.transport.client import ClientPool, Exchange, Origin
from antiphon.transport.server import Request, Responder
from antiphon.transport.sse import EventSplitter

_OF_THE_HOP = frozenset((b"connection", b"transfer-encoding", b"content-length", b"host"))


class Fault(msgspec.Struct, frozen=True):
    """What a gateway does wrong."""

    what: str
    request: Callable[[bytes], bytes] = bytes
    """Of a request's body."""
    head: Callable[[int, Headers], tuple[int, Headers]] = lambda status, headers: (status, headers)
    event: Callable[[bytes], bytes] = bytes
    """Of one event of a stream."""
    body: Callable[[bytes], bytes] = bytes
    """Of an answer in one piece."""
    end: bytes = b""
    """What a stream ends in whatever came before."""
    gathers: bool = False
    """It passes a stream on when it is complete."""
    stays: bool = False
    """It does not notice that its caller leaves."""
    asks_again: bool = False
    """It leaves an error inside a stream out and asks once more, also for a caller who has left."""


class FaultyGateway:
    """Handler for an HttpServer. Make it on the server's loop."""

    def __init__(self, behind: str, fault: Fault) -> None:
        self.fault = fault
        self.pool = ClientPool(Origin.parse(behind))
        self.closed = False

    async def close(self) -> None:
        """Ask no more."""
        self.closed = True
        await self.pool.close()

    def __call__(self, request: Request, responder: Responder) -> None:
        _Passed(self, request, responder)


class _Passed:
    """One call on its way through."""

    def __init__(self, gateway: FaultyGateway, request: Request, responder: Responder) -> None:
        self._gateway = gateway
        self._request = request
        self._responder = responder
        self._asked = 0
        self._exchange: Exchange | None = None
        responder.listener = self
        self._ask()

    def _ask(self) -> None:
        self._asked += 1
        self._failed = False
        self._splitter = EventSplitter()
        self._status = 0
        self._headers: Headers = ()
        self._held = b""
        headers = tuple(field for field in self._request.headers if field[0] not in _OF_THE_HOP)
        body = self._gateway.fault.request(self._request.body)
        self._exchange = self._gateway.pool.request(self._request.method, self._request.path, headers, body, self)

    # -- receiver of the right gateway's answer

    def head(self, status: int, headers: Headers) -> None:
        self._status, self._headers = self._gateway.fault.head(status, headers)

    def data(self, chunk: bytes) -> None:
        if not self._streams or self._gateway.fault.gathers:
            self._held += chunk
            return
        self._pass_on(self._splitter.feed(chunk))

    def complete(self) -> None:
        fault = self._gateway.fault
        if fault.asks_again and self._failed and self._asked == 1:
            self._ask()
        elif not self._streams:
            self._responder.send(self._status, self._headers, fault.body(self._held))
            self._responder.listener = None
        else:
            self._pass_on(self._splitter.feed(self._held) + self._splitter.rest())
            self._responder.end(fault.end)
            self._responder.listener = None

    def broken(self, error: AntiphonError) -> None:
        self._responder.listener = None
        self._responder.abort()

    # -- listener of the caller's connection

    def gone(self) -> None:
        if self._gateway.fault.stays or self._exchange is None:
            return
        self._exchange.cancel()
        if self._gateway.fault.asks_again and not self._gateway.closed:
            self._ask()

    def pause(self) -> None:
        if self._exchange is not None and not self._gateway.fault.stays:
            self._exchange.pause()

    def resume(self) -> None:
        if self._exchange is not None:
            self._exchange.resume()

    # -- between both

    @property
    def _streams(self) -> bool:
        return any(name == b"content-type" and value.startswith(b"text/event-stream") for name, value in self._headers)

    def _pass_on(self, raw: bytes) -> None:
        spoilt = b"".join(self._spoilt(event) for event in sse.split(raw))
        if not self._responder.started:
            self._responder.start(self._status, self._headers, spoilt)
        elif spoilt:
            self._responder.write(spoilt)

    def _spoilt(self, event: bytes) -> bytes:
        fault = self._gateway.fault
        if fault.asks_again and b'"error"' in event:
            self._failed = True
            return b""
        return fault.event(event)
