"""GET /metrics: asks every process and writes down what they say."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from antiphon.core.errors import AntiphonError, UpstreamTimeout
from antiphon.core.processes import ProcessState
from antiphon.core.schedules import RouteState
from antiphon.gateway.admin.routes import scheduling
from antiphon.gateway.admin.sources import ControlSources, EngineReport
from antiphon.observability.exposition import CONTENT_TYPE, EngineSample, ProcessSample, render
from antiphon.observability.metrics import RunningTotal
from antiphon.observability.metrics_snapshot import MetricsSnapshot

PATIENCE = 1.0
"""Seconds that a process has to answer. A worker that does not is shown as down; an engine may be in the middle of a step."""


class _Engines:
    """Asks the engines, and remembers the last report of each.

    During a step an engine says nothing: its library holds Python's lock. So a question stays open until the step is over, however
    often the page is read meanwhile, and then its answer is the report that counts.
    """

    def __init__(self, ask: Callable[[str], Awaitable[EngineReport]], monotonic: Callable[[], float]) -> None:
        self._ask = ask
        self._monotonic = monotonic
        self._open: dict[tuple[str, int], asyncio.Task[None]] = {}
        """By name and process id, so that nothing is said of a process that has ended."""
        self._last: dict[tuple[str, int], tuple[EngineReport, float]] = {}

    async def ask(self, processes: Sequence[ProcessState], patience: float) -> set[str]:
        """Ask all that run; gives back the names of those that answered, or have the question and compute."""
        keys = {(process.name, process.pid) for process in processes if process.role == "engine"}
        for key in self._open.keys() - keys:
            self._open.pop(key).cancel()
        self._last = {key: told for key, told in self._last.items() if key in keys}
        for key in keys - self._open.keys():
            self._open[key] = asyncio.create_task(self._hear(key))
        if not keys:
            return set()
        done, _ = await asyncio.wait([self._open[key] for key in keys], timeout=patience)
        answering = {name for name, _ in keys}
        for key in [key for key in keys if self._open[key] in done]:
            problem = self._open.pop(key).exception()
            if problem is not None and not isinstance(problem, AntiphonError):
                raise problem
            if problem is not None and not isinstance(problem, UpstreamTimeout):
                self._last.pop(key, None)
                answering.discard(key[0])
        return answering

    def samples(self, processes: Sequence[ProcessState]) -> list[EngineSample]:
        """The load of every engine as far as it has told."""
        now = self._monotonic()
        models = {process.name: process.model for process in processes}
        return [
            EngineSample(name, report.model or models[name], report, now - told_at)
            for (name, _), (report, told_at) in self._last.items()
        ]

    async def _hear(self, key: tuple[str, int]) -> None:
        report = await self._ask(key[0])
        self._last[key] = report, self._monotonic()


class MetricsPage:
    """Gathers what the processes measured, for one reader at a time: an older answer must not replace a newer one."""

    def __init__(
        self, sources: ControlSources, patience: float = PATIENCE, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._sources = sources
        self._patience = patience
        self._engines = _Engines(sources.engine_stats, monotonic)
        self._total = RunningTotal()
        self._one_at_a_time = asyncio.Lock()

    async def write(self) -> bytes:
        """The metrics of the whole server as Prometheus text. Without a supervisor there are none of processes."""
        async with self._one_at_a_time:
            processes = self._processes()
            workers, engines, routes = await asyncio.gather(
                self._ask_workers(processes), self._engines.ask(processes, self._patience), self._ask_routes(processes)
            )
            total = self._total.update(workers)
            loads = self._engines.samples(processes)
        answered = {*workers, *engines}
        states = [_sample(process, process.name in answered) for process in processes]
        what = (total, loads, states, routes)
        return await asyncio.to_thread(render, *what)  # takes up to a second where there are very many series

    def _processes(self) -> Sequence[ProcessState]:
        try:
            return self._sources.server().processes
        except AntiphonError:
            return ()

    async def _ask_routes(self, processes: Sequence[ProcessState]) -> Sequence[RouteState]:
        """How the routes are; none where whoever schedules does not answer."""
        with contextlib.suppress(AntiphonError, TimeoutError):
            async with asyncio.timeout(self._patience):
                return (await self._sources.route_states(scheduling(processes))).routes
        return ()

    async def _ask_workers(self, processes: Sequence[ProcessState]) -> dict[str, MetricsSnapshot]:
        """The answers of the workers, by name; asked all at once."""
        answers: dict[str, MetricsSnapshot] = {}

        async def one(name: str) -> None:
            with contextlib.suppress(AntiphonError, TimeoutError):
                async with asyncio.timeout(self._patience):
                    answers[name] = await self._sources.worker_stats(name)

        await asyncio.gather(*(one(process.name) for process in processes if process.role == "worker"))
        return answers


def _sample(process: ProcessState, answered: bool) -> ProcessSample:
    """A process is up if it answered; an engine also if it is late in a step, until the supervisor takes it for hung."""
    ready = process.state == "ready"
    up = {"worker": answered, "engine": answered and ready}.get(process.role, ready)
    return ProcessSample(process.name, process.role, up, process.restarts)


def routes(sources: ControlSources, patience: float = PATIENCE) -> list[BaseRoute]:
    """The endpoint of this module."""
    page = MetricsPage(sources, patience)

    async def metrics(_request: Request) -> Response:
        return Response(await page.write(), headers={"content-type": CONTENT_TYPE, "cache-control": "no-store"})

    return [Route("/metrics", metrics)]
