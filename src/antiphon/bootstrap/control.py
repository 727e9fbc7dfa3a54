"""The control plane's process: ``python -m antiphon.bootstrap.control``."""

import asyncio
import contextlib
import math
import sys
from collections.abc import Callable, Iterator
from socket import socket
from typing import TypeVar

import msgspec
import uvicorn
from starlette.types import ASGIApp

from antiphon.bootstrap.kept_records import KeptRecords
from antiphon.bootstrap.metering import rules
from antiphon.bootstrap.process import Child, Update, run, socket_path
from antiphon.bootstrap.shared_state import ACCOUNTS_PATH, SCHEDULES_PATH
from antiphon.bootstrap.state import read_state
from antiphon.config import Settings
from antiphon.core.errors import UpstreamBroken
from antiphon.core.ledger import AccountStandings
from antiphon.core.processes import ServerState
from antiphon.core.schedules import RouteStates
from antiphon.gateway.admin.app import create_app
from antiphon.gateway.admin.sources import EngineReport
from antiphon.governance.limits import Limits
from antiphon.observability.metrics_snapshot import MetricsSnapshot
from antiphon.transport.client import ClientPool, ClientTimeouts, Origin
from antiphon.transport.fetching import fetch

KEEP_ALIVE = 300
"""Seconds that idle connections are kept: longer than the data plane keeps them, so that it never writes into a closing one."""

TIMEOUTS = ClientTimeouts(connect=1.0, first_byte=1.0, idle=1.0)
ENGINE_TIMEOUTS = ClientTimeouts(connect=1.0, first_byte=60.0, idle=1.0)
"""An engine answers between two steps, and the supervisor ends one that hangs."""

T = TypeVar("T")


class SocketSources:
    """Asks the processes of a run folder over their Unix sockets. Create it on the running loop, and close it."""

    def __init__(self, run_dir: str, settings: Settings) -> None:
        self._run_dir = run_dir
        self._limits = Limits(rules(settings.limits))
        self._pools: dict[str, ClientPool] = {}

    def server(self) -> ServerState:
        return read_state(self._run_dir)

    async def worker_stats(self, process: str) -> MetricsSnapshot:
        return await self._asked(process, "/stats", MetricsSnapshot, TIMEOUTS)

    async def route_states(self, process: str) -> RouteStates:
        return await self._asked(process, SCHEDULES_PATH, RouteStates, TIMEOUTS)

    async def accounts(self, process: str) -> AccountStandings:
        return await self._asked(process, ACCOUNTS_PATH, AccountStandings, TIMEOUTS)

    def limits(self) -> Limits:
        return self._limits

    def take(self, update: Update) -> None:
        """Go over to new settings; all else that is asked of the control plane lies with others, who have gone over."""
        self._limits = Limits(rules(update.settings.limits))

    async def engine_stats(self, process: str) -> EngineReport:
        return await self._asked(process, "/stats", EngineReport, ENGINE_TIMEOUTS)

    async def close(self) -> None:
        for pool in self._pools.values():
            await pool.close()

    async def _asked(self, process: str, path: str, kind: type[T], timeouts: ClientTimeouts) -> T:
        pool = self._pools.get(process)
        if pool is None:
            pool = self._pools[process] = ClientPool(Origin(socket_path=socket_path(self._run_dir, process)), timeouts)
        response = await fetch(pool, "GET", path)
        try:
            return msgspec.json.decode(response.body, type=kind)
        except msgspec.MsgspecError as error:
            raise UpstreamBroken(f"{process} answered with what are no statistics (status {response.status}): {error}") from error


class Server(uvicorn.Server):
    """Uvicorn inside a process whose signals and loop are not its own."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._told_started = started

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals to ``bootstrap.process``."""
        yield

    async def startup(self, sockets: list[socket] | None = None) -> None:
        await super().startup(sockets)
        self._told_started()


def configure(app: ASGIApp, grace: float, *, uds: str | None = None, port: int = 0) -> uvicorn.Config:
    """Uvicorn's configuration: on the Unix socket ``uds``, or else on a loopback port. ``grace`` is in seconds."""
    return uvicorn.Config(
        app,
        uds=uds,
        port=port,
        http="httptools",
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=math.ceil(grace),
    )


async def main(child: Child) -> None:
    """Serve until the process is asked to stop, then finish what was begun within the grace."""
    spec = child.spec
    sources = SocketSources(spec.run_dir, spec.settings)
    records = KeptRecords(spec.settings)
    app = create_app(sources, records.store, records.trail)
    config = configure(app, spec.settings.server.grace, uds=socket_path(spec.run_dir, spec.name))

    def take(update: Update) -> None:
        sources.take(update)
        records.take(update.settings.records)
        records.audit.note("settings.take", update.epoch)

    records.audit.note("server.start", spec.epoch)
    server = Server(config, lambda: child.ready(take))
    stopper = asyncio.create_task(_stop(child.stopping, server))
    try:
        await server.serve()
    finally:
        stopper.cancel()
        await sources.close()
        records.audit.note("server.stop", spec.epoch)
        await records.close()


async def _stop(stopping: asyncio.Event, server: uvicorn.Server) -> None:
    await stopping.wait()
    server.should_exit = True


if __name__ == "__main__":
    sys.exit(run(main))
