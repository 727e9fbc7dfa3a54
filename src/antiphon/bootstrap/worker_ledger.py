"""A worker's ledger: the coordinator's where there are several workers, this process's memory where it is the only one."""

import os
import time

import msgspec

from antiphon.bootstrap.process import socket_path
from antiphon.config import Settings
from antiphon.core.clock import SystemClock
from antiphon.core.ledger import Ledger
from antiphon.dispatch.coordinator.client import CoordinatorLedger, LedgerStats
from antiphon.dispatch.coordinator.link import CoordinatorLink
from antiphon.storage.memory_ledger import MemoryLedger
from antiphon.transport.server import Handler, Request, Responder

LEDGER_SOCKET = "ledger"
"""Name of the coordinator's socket for workers."""

STATS_PATH = "/ledger"
"""Where a worker's private socket tells ``LedgerStats``."""


class WorkerLedger:
    """The ledger of one life of a worker. Make it on the running loop, and close it once the last call is over."""

    def __init__(self, settings: Settings, name: str, run_dir: str) -> None:
        self._shared: CoordinatorLedger | None = None
        self._link: CoordinatorLink | None = None
        self.ledger: Ledger
        if settings.server.workers > 1:
            self._shared = CoordinatorLedger(SystemClock(), f"{name}-{os.getpid()}-{time.time_ns()}")
            self._link = CoordinatorLink(self._shared, socket_path(run_dir, LEDGER_SOCKET))
            self.ledger = self._shared
        else:
            self.ledger = MemoryLedger()

    def stats(self) -> LedgerStats:
        """How it is doing; a ledger in memory is connected to nobody."""
        return self._shared.stats() if self._shared is not None else LedgerStats(connected=False, epoch=0, slices=0, waiting=0)

    def beside(self, handler: Handler) -> Handler:
        """A handler that answers ``/ledger``, and leaves everything else to the one given."""
        encode = msgspec.json.Encoder().encode

        def handle(request: Request, responder: Responder) -> None:
            if request.path == STATS_PATH:
                responder.send(200, ((b"content-type", b"application/json"),), encode(self.stats()))
            else:
                handler(request, responder)

        return handle

    async def close(self) -> None:
        """Tell the coordinator the last settlements, and give back what is held."""
        if self._link is not None:
            await self._link.close()
