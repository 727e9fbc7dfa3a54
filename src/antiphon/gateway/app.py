"""Which path goes where."""

from collections.abc import Callable, Mapping
from typing import Final, Protocol
from urllib.parse import unquote, urlsplit

from antiphon.core.errors import AntiphonError, EndpointNotFound, InvalidRequest, MethodNotAllowed, ModelNotFound, PayloadTooLarge
from antiphon.execution.wire.dialect import Caller
from antiphon.execution.wire.endpoints import ANTHROPIC, ENDPOINTS, OPENAI, caller_at
from antiphon.gateway import errors
from antiphon.gateway.access import Access
from antiphon.gateway.exchange import new_id, request_id
from antiphon.gateway.ollama.catalogue import OllamaCatalogue
from antiphon.gateway.openai.responses import PREFIX as RESPONSES_PREFIX
from antiphon.gateway.openai.responses import Responses
from antiphon.gateway.pipeline import Pipeline
from antiphon.gateway.readiness import Readiness
from antiphon.gateway.relay import Relay
from antiphon.transport.server import PLAIN_ON_TLS, Handler, Request, Responder, ServerLimits

_MODELS: Final = "/v1/models"
_CONTROL: Final = ("/metrics", "/openapi.json", "/docs", "/redoc", "/admin", "/static")
_REFUSALS: Mapping[int, Callable[[ServerLimits], AntiphonError]] = {
    400: lambda _: InvalidRequest("the bytes received are not an HTTP/1.1 request", remedy="send well-formed HTTP/1.1"),
    408: lambda limits: InvalidRequest(
        f"the request did not arrive within {limits.header_timeout:g} s",
        remedy="send it at once, or have the operator raise server.header_timeout",
    ),
    413: lambda limits: PayloadTooLarge(
        f"the request body is larger than {limits.max_body_bytes >> 20} MiB, which is the most that this server takes",
        remedy="send less, or have the operator raise server.max_body_mb",
    ),
    431: lambda _: InvalidRequest("the request's headers are larger than this server takes", remedy="send smaller headers"),
    PLAIN_ON_TLS: lambda _: InvalidRequest("this port speaks HTTPS, and the request is plain HTTP", remedy="use https://"),
}
_SHOWN: Final = {PLAIN_ON_TLS: 400}


class Catalogue(Protocol):
    """Tells of the models in the words of one dialect."""

    def list(self, request: Request, responder: Responder, sees: Callable[[str], bool]) -> None: ...
    def show(self, name: str, responder: Responder) -> None: ...


class App:
    """The data plane's handler. ``models`` has a catalogue for each dialect that asks for it at ``/v1/models``."""

    def __init__(
        self,
        pipeline: Pipeline,
        models: Mapping[str, Catalogue],
        responses: Responses,
        ollama: OllamaCatalogue,
        readiness: Readiness,
        relay: Relay,
        access: Access,
    ) -> None:
        self._pipeline = pipeline
        self._endpoints = {endpoint.path.encode(): name for name, endpoint in ENDPOINTS.items()}
        self._open: dict[str, Handler] = {"/health": readiness.health, "/ready": readiness.ready}
        self._models = models
        self._responses = responses
        self._ollama = ollama.routes()
        self._relay = relay
        self._access = access

    def __call__(self, request: Request, responder: Responder) -> None:
        endpoint = self._endpoints.get(request.target)
        if endpoint is not None and request.method == "POST":
            self._pipeline.run(endpoint, request, responder)
            return
        try:
            self._slow_path(request, responder)
        except AntiphonError as error:
            errors.refuse(responder, error, request_id(request), _caller(request).name)

    def _slow_path(self, request: Request, responder: Responder) -> None:
        path = (
            unquote(urlsplit(request.target.decode("latin-1")).path)
            if request.target.startswith(b"http")
            else unquote(request.path)
        )
        endpoint = self._endpoints.get(path.encode("utf-8", "replace"))
        if endpoint is not None:
            if request.method != "POST":
                raise _wrong_method(request, "POST")
            self._pipeline.run(endpoint, request, responder)  # with a query, which these endpoints do not use
            return
        if path in self._open:
            _read_only(request)
            self._open[path](request, responder)
        elif path == _MODELS or path.startswith(f"{_MODELS}/"):
            self._show_models(path[len(_MODELS) + 1 :], request, responder)
        elif path.startswith(RESPONSES_PREFIX):
            self._responses(request, responder, self._access.principal(request))
        elif path in self._ollama:
            method, handler = self._ollama[path]
            if request.method not in (method, "HEAD" if method == "GET" else method):
                raise _wrong_method(request, method)
            handler(request, responder, self._access.sees(request))
        elif path == "/" or path.startswith(_CONTROL):
            if path.startswith("/admin"):
                self._access.administer(request, path)
            self._relay(request, responder)
        else:
            endpoints = [route.decode() for route in self._endpoints]
            known = ", ".join((*endpoints, _MODELS, *self._ollama, "/health", "/ready", "/metrics", "/docs"))
            raise EndpointNotFound(f'there is no endpoint "{path[:200]}"', remedy=f"known: {known}")

    def _show_models(self, name: str, request: Request, responder: Responder) -> None:
        """The models, or the one of that name, which may hold slashes."""
        _read_only(request)
        sees = self._access.sees(request)
        catalogue = self._models[_caller(request).name]
        if not name:
            catalogue.list(request, responder, sees)
        elif sees(name):
            catalogue.show(name, responder)
        else:
            raise ModelNotFound(f'model "{name[:200]}" is not served here, or not to you', remedy="GET /v1/models lists yours")


def refusing(limits: Callable[[], ServerLimits]) -> Callable[[int, Responder], None]:
    """What answers that which never became a request, by status; the error names the limits as they are then."""

    def refuse(status: int, responder: Responder) -> None:
        error = _REFUSALS[status](limits())
        identity = new_id()
        responder.send(_SHOWN.get(status, status), errors.headers_of(error, identity), errors.body_of(error, identity)[1])

    return refuse


def _caller(request: Request) -> Caller:
    """Who asks at a path that is no endpoint: Anthropic's clients say so by a header, where the path itself does not tell."""
    caller = caller_at(request.path)
    return ANTHROPIC if caller is OPENAI and request.header(b"anthropic-version") else caller


def _read_only(request: Request) -> None:
    if request.method not in ("GET", "HEAD"):
        raise _wrong_method(request, "GET")


def _wrong_method(request: Request, right: str) -> MethodNotAllowed:
    return MethodNotAllowed(f"{request.path} does not take {request.method[:20]}", remedy=f"use {right}")
