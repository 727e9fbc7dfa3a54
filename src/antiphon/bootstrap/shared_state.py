"""What a worker shares, ledger and breaker board: kept by the coordinator, or in memory where it is alone and without limits."""

import asyncio
import logging
import os
import time
from collections.abc import Callable

import msgspec

from antiphon.bootstrap.plan import coordinated
from antiphon.bootstrap.process import socket_path
from antiphon.config import Settings
from antiphon.core.breaker_board import BreakerBoard
from antiphon.core.clock import SystemClock
from antiphon.core.errors import SetupError
from antiphon.core.ledger import Ledger
from antiphon.dispatch.coordinator.breakers.worker_board import BoardStats, WorkerBoard
from antiphon.dispatch.coordinator.ledger.client import CoordinatorLedger
from antiphon.dispatch.coordinator.ledger.stats import LedgerStats
from antiphon.dispatch.coordinator.link import CoordinatorLink
from antiphon.dispatch.coordinator.party import Party
from antiphon.dispatch.coordinator.schedules.worker_desks import WorkerDesks
from antiphon.storage.memory_board import MemoryBreakerBoard
from antiphon.storage.memory_ledger import MemoryLedger
from antiphon.transport.server import Handler, Request, Responder

RETIRING = 0.1
"""Seconds between two looks whether the last call has ended that reserved here."""

log = logging.getLogger(__name__)

SHARED_SOCKET = "shared"
"""Name of the coordinator's socket for workers."""

LEDGER_PATH = "/ledger"
"""Where a worker's private socket tells ``LedgerStats``."""

BOARD_PATH = "/breakers"
"""Where it tells ``BoardStats``."""

ACCOUNTS_PATH = "/accounts"
"""Where the coordinator tells ``AccountStandings``."""

SCHEDULES_PATH = "/schedules"
"""Where it, or the coordinator, tells ``RouteStates``."""


def _kept(settings: Settings) -> tuple[bool, bool]:
    """Whether the coordinator keeps anything, and whether this is the only worker, which schedules its calls itself."""
    return coordinated(settings), settings.server.workers == 1


class SharedState:
    """The ledger and the breaker board of one life of a worker. Make it on the running loop, and close it after the last call."""

    def __init__(self, settings: Settings, name: str, run_dir: str, desks: WorkerDesks) -> None:
        self._ledger: CoordinatorLedger | None = None
        self._board: WorkerBoard | None = None
        self._link: CoordinatorLink | None = None
        self._desks = desks
        self.ledger: Ledger
        self.board: BreakerBoard
        self._kept = _kept(settings)
        coordinated, alone = self._kept
        others: tuple[Party, ...] = ()
        if alone:
            self.board = MemoryBreakerBoard()
        else:
            self.board = self._board = WorkerBoard(SystemClock())
            others = (self._board, desks)
        if coordinated:
            self.ledger = self._ledger = CoordinatorLedger(SystemClock(), f"{name}-{os.getpid()}-{time.time_ns()}")
            self._link = CoordinatorLink(self._ledger, socket_path(run_dir, SHARED_SOCKET), *others)
        else:
            self.ledger = MemoryLedger()

    def suits(self, settings: Settings) -> bool:
        """Whether this is kept where a worker has it kept under these settings."""
        return self._kept == _kept(settings)

    async def met(self, within: float) -> None:
        """Wait until the coordinator has taken this worker in, but not for longer than so many seconds."""
        if self._link is not None:
            try:
                await self._link.ready(within)
            except SetupError as error:
                log.warning("%s; until it does, calls whose money is limited are refused", error)

    def ledger_stats(self) -> LedgerStats:
        """How the ledger is doing; one in memory is connected to nobody."""
        return self._ledger.stats() if self._ledger is not None else LedgerStats(connected=False, epoch=0, slices=0, waiting=0)

    def board_stats(self) -> BoardStats:
        """How the breaker board is doing; one in memory is connected to nobody."""
        if self._board is not None:
            return self._board.stats()
        return BoardStats(connected=False, targets=0, opened=len(self.board.opened()), waiting=0)

    def beside(self, handler: Handler) -> Handler:
        """A handler that answers ``/ledger``, ``/breakers`` and ``/schedules``, and leaves everything else to the one given."""
        encode = msgspec.json.Encoder().encode
        told: dict[str, Callable[[], msgspec.Struct]] = {
            LEDGER_PATH: self.ledger_stats,
            BOARD_PATH: self.board_stats,
            SCHEDULES_PATH: self._desks.states,
        }

        def handle(request: Request, responder: Responder) -> None:
            tell = told.get(request.path)
            if tell is None:
                handler(request, responder)
            else:
                responder.send(200, ((b"content-type", b"application/json"),), encode(tell()))

        return handle

    async def retire(self) -> None:
        """Close once the calls are over that have reserved here. Later ones must go elsewhere."""
        while True:
            if self._ledger is None or self._ledger.idle:
                break
            await asyncio.sleep(RETIRING)
        await self.close()

    async def close(self) -> None:
        """Tell the coordinator the last news, and give back what is held."""
        if self._link is not None:
            await self._link.close()
