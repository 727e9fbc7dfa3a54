"""Passes requests to the control plane as they are: one more upstream, over a Unix socket, so that users see one port."""

from antiphon.core.errors import AntiphonError, UpstreamUnreachable
from antiphon.core.types import Headers
from antiphon.gateway import errors
from antiphon.gateway.exchange import request_id
from antiphon.transport.client import ClientPool, Exchange
from antiphon.transport.server import Request, Responder

_HOP_BY_HOP = frozenset(
    (b"connection", b"keep-alive", b"transfer-encoding", b"content-length", b"host", b"upgrade", b"te", b"trailer", b"expect")
)


class Relay:
    """Handler for the control plane's paths."""

    def __init__(self, control: ClientPool) -> None:
        self._control = control

    def __call__(self, request: Request, responder: Responder) -> None:
        target = f"{request.path}?{request.query}" if request.query else request.path
        headers = tuple(field for field in request.headers if field[0] not in _HOP_BY_HOP)
        relayed = _Relayed(responder, request_id(request))
        responder.listener = relayed
        method = "GET" if request.method == "HEAD" else request.method  # the responder leaves the body out
        relayed.exchange = self._control.request(method, target, headers, request.body, relayed)


class _Relayed:
    """One answer on its way through; stops reading it while the caller is slow."""

    __slots__ = ("_head", "_id", "_responder", "exchange")

    def __init__(self, responder: Responder, identity: str) -> None:
        self._responder = responder
        self._id = identity
        self._head: tuple[int, Headers] | None = None
        self.exchange: Exchange | None = None

    def head(self, status: int, headers: Headers) -> None:
        self._head = (status, headers)

    def data(self, chunk: bytes) -> None:
        if self._responder.started:
            self._responder.write(chunk)
        elif self._head is not None:
            self._responder.start(*self._head, chunk)

    def complete(self) -> None:
        if self._responder.started:
            self._responder.end()
        elif self._head is not None:
            self._responder.send(*self._head)

    def broken(self, error: AntiphonError) -> None:
        if self._responder.started:
            self._responder.abort()
            return
        told = UpstreamUnreachable(
            "the control plane does not answer", remedy="calls to models go on; it is restarted within seconds", retry_after=1.0
        )
        errors.refuse(self._responder, told, self._id)

    def gone(self) -> None:
        if self.exchange is not None:
            self.exchange.cancel()

    def pause(self) -> None:
        if self.exchange is not None:
            self.exchange.pause()

    def resume(self) -> None:
        if self.exchange is not None:
            self.exchange.resume()
