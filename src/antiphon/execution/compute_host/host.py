"""The HTTP application of a compute host: its endpoints and its state."""

import math
import uuid

import msgspec

from antiphon.core.errors import AntiphonError, CapacityError, Draining, EndpointNotFound, MethodNotAllowed, ModelNotFound
from antiphon.core.ports import Encoder
from antiphon.core.types import Headers
from antiphon.execution.compute_host.finder import Finder
from antiphon.execution.compute_host.limits import ComputeLimits
from antiphon.execution.compute_host.queue import EncodeQueue, Job
from antiphon.execution.compute_host.requests import parse
from antiphon.execution.wire.host import Health, HostState
from antiphon.execution.wire.host_guardrails import PATH as FIND
from antiphon.execution.wire.openai import errors as openai_errors
from antiphon.transport.server import Request, Responder

_encode = msgspec.json.Encoder().encode
_METHODS = {"/v1/embeddings": "POST", FIND: "POST", "/health": "GET", "/stats": "GET"}


class ComputeStats(msgspec.Struct, frozen=True):
    """Answer of ``GET /stats``."""

    model: str
    status: str
    dimensions: int = 0
    running: int = 0
    """Requests that share the present turn of the encoder."""
    waiting: int = 0
    encoded_texts: int = 0
    encoded_tokens: int = 0
    """Of the requests that were answered."""


class ComputeHost:
    """Serves one encoder under ``name``, and what looks at texts. Create it on the running loop.

    ``handle`` is the handler of an ``HttpServer``.

    It answers from the first moment: until ``attach`` brings the encoder, calls are told to come back later. Where there is none,
    ``name`` is empty.
    """

    def __init__(self, name: str, limits: ComputeLimits | None = None, finder: Finder | None = None) -> None:
        self.name = name
        self._finder = finder
        self.state = HostState.LOADING
        self._limits = limits or ComputeLimits()
        self._encoder: Encoder | None = None
        self._queue: EncodeQueue | None = None

    def attach(self, encoder: Encoder) -> None:
        """Serve with this encoder from now on."""
        self._encoder = encoder
        self._queue = EncodeQueue(encoder, self._limits)
        self.state = HostState.READY

    def begin(self) -> None:
        """Serve without an encoder."""
        self.state = HostState.READY

    def drain(self) -> None:
        """Take no more calls; those that have come are answered."""
        self.state = HostState.DRAINING

    def close(self) -> None:
        """Drop what is left and free the threads."""
        if self._finder is not None:
            self._finder.close()
        if self._queue is not None:
            self._queue.close()

    def handle(self, request: Request, responder: Responder) -> None:
        """Answer one request."""
        given = request.header(b"x-request-id").decode("ascii", "replace")[:128]
        request_id = given or f"req_{uuid.uuid4().hex}"
        try:
            self._route(request, responder, request_id)
        except AntiphonError as error:
            send_error(responder, error, request_id)

    def _route(self, request: Request, responder: Responder, request_id: str) -> None:
        allowed = _METHODS.get(request.path)
        if allowed is None:
            raise EndpointNotFound(f"there is no {request.path[:200]} here", remedy=f"known: {', '.join(_METHODS)}")
        if request.method != allowed and not (allowed == "GET" and request.method == "HEAD"):
            raise MethodNotAllowed(f"{request.path} does not take {request.method}", remedy=f"use {allowed}")
        if request.path == "/v1/embeddings":
            self._embed(request.body, responder, request_id)
        elif request.path == FIND and self._finder is not None:
            self._finder.answer(request, responder)
        elif request.path == "/health":
            health = Health(self.state.value, self.name)
            _send(responder, _encode(health), request_id, 200 if self.state is HostState.READY else 503)
        else:
            _send(responder, _encode(self._stats()), request_id)

    def _embed(self, body: bytes, responder: Responder, request_id: str) -> None:
        if self.state is HostState.DRAINING:
            raise Draining(remedy="try again", retry_after=1)
        if self._encoder is None or self._queue is None:
            raise CapacityError(f'model "{self.name}" is still loading', remedy="try again in a few seconds", retry_after=2)
        wanted = parse(body, self._encoder.dimensions, self._limits)
        if wanted.model != self.name:
            raise ModelNotFound(f'model "{wanted.model[:200]}" is not served here', remedy=f"known: {self.name}", param="model")
        job = Job(
            wanted,
            lambda answer: _send(responder, answer, request_id),
            lambda error: send_error(responder, error, request_id),
        )
        self._queue.submit(job)
        responder.listener = _Peer(self._queue, job)

    def _stats(self) -> ComputeStats:
        encoder, queue = self._encoder, self._queue
        if encoder is None or queue is None:
            return ComputeStats(self.name, self.state.value)
        return ComputeStats(
            self.name, self.state.value, encoder.dimensions, queue.running, queue.waiting, queue.encoded_texts, queue.encoded_tokens
        )


class _Peer:
    """Whoever waits for the answer."""

    def __init__(self, queue: EncodeQueue, job: Job) -> None:
        self._queue = queue
        self._job = job

    def gone(self) -> None:
        self._queue.cancel(self._job)

    def pause(self) -> None:
        """The answer is written in one piece."""

    def resume(self) -> None:
        """The answer is written in one piece."""


def send_error(responder: Responder, error: AntiphonError, request_id: str) -> None:
    """Answer with an error in OpenAI's shape."""
    status, body = openai_errors.render(error, request_id)
    headers: Headers = ()
    if error.retry_after is not None:
        headers = ((b"retry-after", b"%d" % max(1, math.ceil(error.retry_after))),)
    _send(responder, body, request_id, status, headers)


def _send(responder: Responder, body: bytes, request_id: str, status: int = 200, more: Headers = ()) -> None:
    responder.send(status, ((b"content-type", b"application/json"), (b"x-request-id", request_id.encode()), *more), body)
