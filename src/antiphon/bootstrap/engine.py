"""Starts the host of one local model: ``python -m antiphon.bootstrap.engine``, by the supervisor.

``antiphon engine`` uses the same composition without a supervisor.
"""

import asyncio
import concurrent.futures
import contextlib
import logging
import socket
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from antiphon.bootstrap.process import Child, run, socket_path
from antiphon.config import LocalModelSettings
from antiphon.core.errors import InternalError
from antiphon.core.ports import Engine
from antiphon.execution.engine_host import EngineHost, SamplingDefaults, refuse
from antiphon.execution.engines import ENGINES, EngineOptions, EnginePlugin
from antiphon.transport.listeners import unix_listener
from antiphon.transport.server import HttpServer, ServerLimits

HEARTBEAT = 2.0
"""Seconds between two words about a model that is still loading."""
CLOSING = 5.0
"""Seconds that an engine gets to end its thread."""

T = TypeVar("T")

log = logging.getLogger(__name__)


class Serving(msgspec.Struct, frozen=True):
    """How and for how long an engine is to be served."""

    listener: socket.socket
    """Bound and listening, TCP or Unix."""
    stopping: asyncio.Event
    grace: float
    """Seconds that running calls get once ``stopping`` is set."""
    loading: Callable[[str], None]
    """Told what is being done until the engine is there."""
    ready: Callable[[], None]
    limits: ServerLimits = ServerLimits()
    defaults: SamplingDefaults = SamplingDefaults()


def engine_options(model: LocalModelSettings, path: str, cache_dir: str) -> EngineOptions:
    """What the settings of a model mean for its engine."""
    return EngineOptions(
        model=model.name,
        path=path,
        cache_dir=str(Path(cache_dir, "engines")),
        threads=model.threads,
        context=model.context,
        kv_cache_mb=model.kv_cache_mb,
        max_running=model.max_running,
        max_waiting=model.max_waiting,
        precision=model.precision,
        adapters=model.adapters,
    )


def sampling_defaults(model: LocalModelSettings) -> SamplingDefaults:
    """What the settings of a model say for calls that do not say themselves."""
    return SamplingDefaults(model.temperature, model.top_p, model.max_tokens)


def loader(model: LocalModelSettings, path: str, cache_dir: str) -> Callable[[], Engine]:
    """A function that loads the model; it blocks for seconds. Raises ConfigError at once where there is no such engine."""
    plugin: EnginePlugin = ENGINES.load(model.engine)
    options = engine_options(model, path, cache_dir)
    return lambda: plugin.load(options)


async def serve_engine(name: str, load: Callable[[], Engine], serving: Serving) -> None:
    """Serve until asked to stop. Raises what ``load`` raises, and EngineFailed once the engine has failed.

    It listens from the start: while the model loads, ``/health`` says so and calls are told to come back.
    """
    host = EngineHost(name, serving.defaults)
    server = HttpServer(host.handle, serving.limits, refuse)
    await server.listen(serving.listener)
    try:
        engine = await _load(name, load, serving)
        if engine is not None:
            await _serve(host, server, engine, serving)
    finally:
        host.close()
        await server.close()
    if host.failure is not None:
        raise host.failure


async def _load(name: str, load: Callable[[], Engine], serving: Serving) -> Engine | None:
    """The engine, or None where the process shall stop before it is there."""
    loading = _in_thread(load)
    stopping = asyncio.ensure_future(serving.stopping.wait())
    either: set[asyncio.Future[Any]] = {loading, stopping}
    began = time.monotonic()
    serving.loading(f"loading {name}")
    try:
        while not (loading.done() or stopping.done()):
            await asyncio.wait(either, timeout=HEARTBEAT, return_when=asyncio.FIRST_COMPLETED)
            if not (loading.done() or stopping.done()):
                serving.loading(f"loading {name}, {time.monotonic() - began:.0f} s")
        if stopping.done() and not loading.done():
            await asyncio.wait({loading}, timeout=serving.grace)  # a library cannot be stopped in the middle of it
        return loading.result() if loading.done() else None
    finally:
        stopping.cancel()


async def _serve(host: EngineHost, server: HttpServer, engine: Engine, serving: Serving) -> None:
    try:
        host.attach(engine)
        serving.ready()
        await _first(serving.stopping.wait(), host.broken.wait())
        host.drain()
        if await host.quiet(serving.grace):
            await server.drain(1.0)
        else:
            log.warning("model %s: calls were still running after %g s and are cut off", host.name, serving.grace)
            await server.close()
    finally:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(_in_thread(engine.close), CLOSING)


async def _first(*waits: Awaitable[object]) -> None:
    futures = [asyncio.ensure_future(wait) for wait in waits]
    await asyncio.wait(futures, return_when=asyncio.FIRST_COMPLETED)
    for future in futures:
        future.cancel()


def _in_thread(work: Callable[[], T]) -> "asyncio.Future[T]":
    """Run something that blocks in a thread which does not keep the process alive, unlike those of an executor."""
    outcome: concurrent.futures.Future[T] = concurrent.futures.Future()

    def body() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:  # whatever it is, it is raised where the outcome is awaited
            outcome.set_exception(error)

    threading.Thread(target=body, name="engine work", daemon=True).start()
    return asyncio.wrap_future(outcome)


async def main(child: Child) -> None:
    """Load the model and serve it on this process's Unix socket until asked to stop."""
    spec = child.spec
    if spec.model is None:
        raise InternalError("the process specification of an engine names no model")
    server = spec.settings.server
    serving = Serving(
        listener=unix_listener(socket_path(spec.run_dir, spec.name)),
        stopping=child.stopping,
        grace=server.grace,
        loading=child.loading,
        ready=child.ready,
        limits=ServerLimits(max_body_bytes=server.max_body_mb << 20),
        defaults=sampling_defaults(spec.model),
    )
    await serve_engine(spec.model.name, loader(spec.model, spec.model_path, spec.settings.cache_dir), serving)


if __name__ == "__main__":
    sys.exit(run(main))
