"""The coordinator's process: ``python -m antiphon.bootstrap.coordinator``, started by the supervisor beside several workers."""

import asyncio
import contextlib
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from antiphon.bootstrap.cycles import collect_seldom
from antiphon.bootstrap.process import Child, run, socket_path
from antiphon.bootstrap.shared_state import ACCOUNTS_PATH, SCHEDULES_PATH, SHARED_SOCKET
from antiphon.core.clock import SystemClock
from antiphon.dispatch.coordinator.ledger.journal import Journal
from antiphon.dispatch.coordinator.server import CoordinatorServer
from antiphon.transport.listeners import unix_listener
from antiphon.transport.server import HttpServer, Request, Responder

WITHOUT_WORKERS = 0.5
"""Seconds that the workers' last news has to arrive once they have ended."""


async def main(child: Child) -> None:
    """Keep ledger, breaker board and schedulers until asked to stop, which happens after the workers have ended."""
    spec = child.spec
    clock = SystemClock()
    coordinator = CoordinatorServer(Journal(Path(spec.settings.data_dir) / "ledger" / "journal"), clock)
    encode = msgspec.json.Encoder().encode
    told: dict[str, Callable[[], msgspec.Struct]] = {
        SCHEDULES_PATH: coordinator.schedules.states,
        ACCOUNTS_PATH: coordinator.accounts,
    }

    def tell(request: Request, responder: Responder) -> None:
        answer = told.get(request.path, coordinator.stats)
        responder.send(200, ((b"content-type", b"application/json"),), encode(answer()))

    server = HttpServer(tell)
    try:
        await coordinator.listen(unix_listener(socket_path(spec.run_dir, SHARED_SOCKET)))
        await server.listen(unix_listener(socket_path(spec.run_dir, spec.name)))
        collect_seldom()
        child.ready()
        await child.stopping.wait()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(coordinator.alone(), WITHOUT_WORKERS)
    finally:
        await server.close()
        await coordinator.close()


if __name__ == "__main__":
    sys.exit(run(main))
