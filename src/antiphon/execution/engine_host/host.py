"""The HTTP application of an engine host: its endpoints and its state."""

import asyncio
import logging
import time
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

import msgspec

from antiphon.core.errors import (
    AntiphonError,
    CapacityError,
    Draining,
    EndpointNotFound,
    EngineFailed,
    InternalError,
    InvalidRequest,
    MethodNotAllowed,
    ModelNotFound,
    PayloadTooLarge,
    QueueFull,
)
from antiphon.core.ports import Engine
from antiphon.execution.engine_host.answer import Answer, send_error
from antiphon.execution.engine_host.preparation import Preparation, Tokenized, Work
from antiphon.execution.engine_host.responses import ModelList, ModelObject
from antiphon.execution.engine_host.sampling import OPENAI_DEFAULTS, SamplingDefaults
from antiphon.execution.wire.host import Health, HostState
from antiphon.execution.wire.openai.errors import render
from antiphon.transport.server import Request, Responder

MAX_PREPARING = 256
"""Requests that may wait for their prompt to be tokenised."""

_POSTS: Mapping[str, Callable[[Preparation, bytes], Work | Tokenized]] = {
    "/v1/chat/completions": Preparation.chat,
    "/v1/completions": Preparation.completion,
    "/tokenize": Preparation.tokenize,
}
_REFUSALS = {
    400: ("the bytes received are not an HTTP/1.1 request", "send well-formed HTTP/1.1"),
    408: ("the request did not arrive in time", "send it at once"),
    431: ("the request's headers are too large", "send smaller headers"),
}
_encode = msgspec.json.Encoder().encode

log = logging.getLogger(__name__)


class HostStats(msgspec.Struct, frozen=True):
    """Answer of ``GET /stats``: the engine's load, and what else tells how the host is doing."""

    model: str
    status: str
    open_calls: int
    """Calls that have come in and are not answered yet."""
    context_length: int = 0
    running: int = 0
    waiting: int = 0
    kv_cache_usage: float = 0.0
    generated_tokens: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0


class EngineHost:
    """Serves one engine. Create it on the running loop; ``handle`` is the handler of an ``HttpServer``.

    It answers from the first moment: until ``attach`` brings the engine, calls are told to come back later. ``broken`` is set when
    the engine can no longer go on; the process should then end, so that whoever watches it starts a fresh one.
    """

    def __init__(self, name: str, defaults: SamplingDefaults = OPENAI_DEFAULTS) -> None:
        self.name = name
        self._defaults = defaults
        self.state = HostState.LOADING
        self.detail = ""
        """What is being loaded, or why the host has failed."""
        self.failure: AntiphonError | None = None
        self.broken = asyncio.Event()
        self._engine: Engine | None = None
        self._preparation: Preparation | None = None
        self._created = int(time.time())
        self._open: set[_Waiting | Answer] = set()
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._preparing = 0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="prepare")

    def attach(self, engine: Engine) -> None:
        """Serve with this engine from now on. Raises SetupError where its chat template is not valid."""
        self._preparation = Preparation(engine, self.name, self._defaults)
        self._engine = engine
        self.state = HostState.READY
        self.detail = ""

    def drain(self) -> None:
        """Take no more calls; running ones go on."""
        if self.state is not HostState.FAILED:
            self.state = HostState.DRAINING

    async def quiet(self, grace: float) -> bool:
        """Wait until no call is open, for at most ``grace`` seconds; whether that was so."""
        try:
            await asyncio.wait_for(self._quiet.wait(), grace)
        except TimeoutError:
            return False
        return True

    def fail(self, error: AntiphonError) -> None:
        """The engine is of no use any more."""
        if self.failure is None:
            log.error("engine of model %s failed: %s", self.name, error)
            self.failure = error
            self.state = HostState.FAILED
            self.detail = str(error)
            self.broken.set()

    def close(self) -> None:
        """Free the thread that prepares prompts. The engine belongs to whoever loaded it."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def handle(self, request: Request, responder: Responder) -> None:
        """Answer one request."""
        given = request.header(b"x-request-id").decode("ascii", "replace")[:128]
        request_id = given or f"req_{uuid.uuid4().hex}"
        try:
            self._route(request, responder, request_id)
        except AntiphonError as error:
            send_error(responder, error, request_id)

    def _route(self, request: Request, responder: Responder, request_id: str) -> None:
        prepare = _POSTS.get(request.path)
        if prepare is not None:
            _check_method(request, "POST")
            self._prepare(prepare, request.body, responder, request_id)
        elif request.path == "/health":
            _check_method(request, "GET")
            health = Health(self.state.value, self.name, self.detail)
            _send(responder, health, request_id, 200 if self.state is HostState.READY else 503)
        elif request.path == "/stats":
            _check_method(request, "GET")
            _send(responder, self._stats(), request_id)
        elif request.path == "/v1/models" or request.path.startswith("/v1/models/"):
            _check_method(request, "GET")
            self._models(request.path.removeprefix("/v1/models").lstrip("/"), responder, request_id)
        else:
            known = ", ".join([*_POSTS, "/v1/models", "/health", "/stats"])
            raise EndpointNotFound(f"there is no {request.path[:200]} here", remedy=f"known: {known}")

    def _models(self, name: str, responder: Responder, request_id: str) -> None:
        names = self._preparation.names if self._preparation else []
        if not name:
            _send(responder, ModelList([ModelObject(known, self._created) for known in names]), request_id)
        elif name in names:
            _send(responder, ModelObject(name, self._created), request_id)
        else:
            raise ModelNotFound(f'model "{name[:200]}" is not served here', remedy=f"known: {', '.join(names)}", param="model")

    def _stats(self) -> HostStats:
        if self._engine is None:
            return HostStats(self.name, self.state.value, len(self._open))
        stats = self._engine.stats()
        return HostStats(
            self.name, self.state.value, len(self._open), self._engine.info.context_length, *msgspec.structs.astuple(stats)
        )

    def _prepare(
        self, prepare: Callable[[Preparation, bytes], Work | Tokenized], body: bytes, responder: Responder, request_id: str
    ) -> None:
        """Tokenise beside the loop, then hand over to the engine where more than that is wanted."""
        preparation = self._ready()
        if self._preparing >= MAX_PREPARING:
            raise QueueFull(
                f'{self._preparing} calls wait to be tokenised for model "{self.name}"', remedy="try again later", retry_after=1
            )
        waiting = _Waiting(self._closed)
        responder.listener = waiting
        self._opened(waiting)
        self._preparing += 1
        future = asyncio.get_running_loop().run_in_executor(self._thread, prepare, preparation, body)
        future.add_done_callback(lambda done: self._prepared(done, waiting, responder, request_id))

    def _ready(self) -> Preparation:
        if self.failure is not None:
            raise EngineFailed(
                f'the engine of model "{self.name}" has failed', remedy="it is being restarted; try again", retry_after=2
            )
        if self.state is HostState.DRAINING:
            raise Draining(remedy="try again", retry_after=1)
        if self._preparation is None:
            raise CapacityError(f'model "{self.name}" is still loading', remedy="try again in a few seconds", retry_after=2)
        return self._preparation

    def _prepared(
        self, future: "asyncio.Future[Work | Tokenized]", waiting: "_Waiting", responder: Responder, request_id: str
    ) -> None:
        self._preparing -= 1
        if waiting.left or future.cancelled():
            self._closed(waiting)
            return
        assert self._engine is not None
        answer = None
        try:
            work = future.result()
            if isinstance(work, Tokenized):
                _send(responder, work, request_id)
            else:
                answer = Answer(self._engine, work, responder, request_id, self._ended)
                self._opened(answer)
                answer.start()
        except AntiphonError as error:
            send_error(responder, error, request_id)
        except Exception:  # the border of the engine, which is a plugin: its faults are ours to answer for
            log.exception("call %s failed", request_id)
            if answer is None:
                send_error(responder, InternalError(), request_id)
            else:
                answer.fail(InternalError())
        self._closed(waiting)

    def _ended(self, answer: Answer, error: AntiphonError | None) -> None:
        self._closed(answer)
        if isinstance(error, EngineFailed):
            self.fail(error)

    def _opened(self, call: "_Waiting | Answer") -> None:
        self._open.add(call)
        self._quiet.clear()

    def _closed(self, call: "_Waiting | Answer") -> None:
        self._open.discard(call)
        if not self._open:
            self._quiet.set()


class _Waiting:
    """The peer of a call whose prompt is still being tokenised."""

    def __init__(self, closed: "Callable[[_Waiting], None]") -> None:
        self.left = False
        self._closed = closed

    def gone(self) -> None:
        self.left = True
        self._closed(self)

    def pause(self) -> None:
        """Nothing is being written yet."""

    def resume(self) -> None:
        """Nothing is being written yet."""


def refuse(status: int, responder: Responder) -> None:
    """Answer what never became a request: 400 malformed, 408 too slow, 413 and 431 too large."""
    what, remedy = _REFUSALS.get(status, _REFUSALS[400])
    error = PayloadTooLarge() if status == 413 else InvalidRequest(what, remedy=remedy)
    responder.send(status, ((b"content-type", b"application/json"),), render(error, "")[1])


def _check_method(request: Request, allowed: str) -> None:
    if request.method != allowed and not (allowed == "GET" and request.method == "HEAD"):
        raise MethodNotAllowed(f"{request.path} does not take {request.method}", remedy=f"use {allowed}")


def _send(responder: Responder, body: msgspec.Struct, request_id: str, status: int = 200) -> None:
    headers = ((b"content-type", b"application/json"), (b"x-request-id", request_id.encode()))
    responder.send(status, headers, _encode(body))
