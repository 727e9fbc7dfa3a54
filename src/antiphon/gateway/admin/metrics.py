"""GET /metrics: asks every process and writes down what they say."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from antiphon.core.errors import AntiphonError
from antiphon.core.processes import ProcessState
from antiphon.gateway.admin.sources import ControlSources
from antiphon.observability.exposition import CONTENT_TYPE, EngineSample, ProcessSample, render
from antiphon.observability.metrics import RunningTotal

PATIENCE = 1.0
"""Seconds that a process has to answer; one that does not is shown as down."""

T = TypeVar("T")


class MetricsPage:
    """Gathers what the processes measured, for one reader at a time: an older answer must not replace a newer one."""

    def __init__(self, sources: ControlSources, patience: float = PATIENCE) -> None:
        self._sources = sources
        self._patience = patience
        self._total = RunningTotal()
        self._one_at_a_time = asyncio.Lock()

    async def write(self) -> bytes:
        """The metrics of the whole server as Prometheus text. Without a supervisor there are none of processes."""
        async with self._one_at_a_time:
            processes = self._processes()
            workers, engines = await asyncio.gather(
                self._ask("worker", self._sources.worker_stats, processes),
                self._ask("engine", self._sources.engine_stats, processes),
            )
            total = self._total.update(workers)
        models = {process.name: process.model for process in processes}
        loads = [EngineSample(name, report.model or models[name], report) for name, report in engines.items()]
        states = [_sample(process, process.name in workers or process.name in engines) for process in processes]
        return await asyncio.to_thread(render, total, loads, states)  # takes up to a second where there are very many series

    def _processes(self) -> Sequence[ProcessState]:
        try:
            return self._sources.server().processes
        except AntiphonError:
            return ()

    async def _ask(self, role: str, ask: Callable[[str], Awaitable[T]], processes: Sequence[ProcessState]) -> dict[str, T]:
        """The answers of the processes of one role, by name; asked all at once."""
        names = [process.name for process in processes if process.role == role]
        answers = await asyncio.gather(*(self._answer(ask, name) for name in names))
        return {name: answer for name, answer in zip(names, answers, strict=True) if answer is not None}

    async def _answer(self, ask: Callable[[str], Awaitable[T]], name: str) -> T | None:
        try:
            async with asyncio.timeout(self._patience):
                return await ask(name)
        except (AntiphonError, TimeoutError):
            return None


def _sample(process: ProcessState, answered: bool) -> ProcessSample:
    up = answered if process.role in ("worker", "engine") else process.state == "ready"
    return ProcessSample(process.name, process.role, up, process.restarts)


def routes(sources: ControlSources, patience: float = PATIENCE) -> list[BaseRoute]:
    """The endpoint of this module."""
    page = MetricsPage(sources, patience)

    async def metrics(_request: Request) -> Response:
        return Response(await page.write(), headers={"content-type": CONTENT_TYPE, "cache-control": "no-store"})

    return [Route("/metrics", metrics)]
