"""The coordinator's sockets: workers connect, the service answers."""

import asyncio
import logging
import socket
from collections.abc import Callable
from typing import Final

import msgspec

from antiphon.core.ledger import AccountStandings
from antiphon.core.ports import Clock
from antiphon.dispatch.alarms import Alarms
from antiphon.dispatch.coordinator.breakers.messages import BoardHello, BoardTold
from antiphon.dispatch.coordinator.breakers.service import BoardService, BoardServiceStats, first_trial
from antiphon.dispatch.coordinator.framing import Malformed, frame, from_workers
from antiphon.dispatch.coordinator.ledger.book import Book
from antiphon.dispatch.coordinator.ledger.journal import Journal
from antiphon.dispatch.coordinator.ledger.service import LedgerService, LedgerServiceStats
from antiphon.dispatch.coordinator.party import Message
from antiphon.dispatch.coordinator.schedules.messages import ScheduleEvents
from antiphon.dispatch.coordinator.schedules.service import ScheduleService, ScheduleStats

LEASE: Final = 10.0
"""Seconds of silence after which everything that a worker holds is free again."""

TICK: Final = 0.1
"""Seconds between two looks for leases and waits that are over."""

MAX_UNREAD: Final = 16 << 20
"""Bytes that a worker may leave unread before its connection is closed."""

log = logging.getLogger(__name__)


class CoordinatorStats(msgspec.Struct, frozen=True):
    """How the coordinator is doing."""

    ledger: LedgerServiceStats
    board: BoardServiceStats
    schedules: ScheduleStats


class CoordinatorServer:
    """Serves ledger, breaker board and schedulers to the workers of this machine. Make it on the running loop, and close it."""

    def __init__(self, journal: Journal, clock: Clock, *, lease: float = LEASE) -> None:
        self._journal = journal
        self._loop = asyncio.get_running_loop()
        self._giving_up: asyncio.TimerHandle | None = None
        book = Book(lease)
        book.load(journal.rows, clock.time(), clock.monotonic())
        journal.rows = []
        self.service = LedgerService(book, clock, journal.append, self._call_later)
        self.board = BoardService(clock, first_trial(book.epoch))
        self._alarms = Alarms(clock, self._loop.call_later)
        self.schedules = ScheduleService(clock, self._alarms)
        self._server: asyncio.Server | None = None
        self._peers: set[_Peer] = set()
        self._alone = asyncio.Event()
        self._timer = self._loop.call_later(TICK, self._tick)

    async def listen(self, sock: socket.socket) -> None:
        """Take workers' connections from a listening Unix socket."""
        self._server = await self._loop.create_unix_server(
            lambda: _Peer(self.service, self.board, self.schedules, self._peers), sock=sock
        )

    def stats(self) -> CoordinatorStats:
        """How the coordinator is doing."""
        return CoordinatorStats(self.service.stats(), self.board.stats(), self.schedules.stats())

    def accounts(self) -> AccountStandings:
        """How every account stands."""
        return AccountStandings(tuple(self.service.standings()))

    async def alone(self) -> None:
        """Wait until no worker is connected."""
        self._alone.clear()
        await self._alone.wait()

    async def close(self) -> None:
        """Close all connections and bring the journal to the disk."""
        self._timer.cancel()
        if self._giving_up is not None:
            self._giving_up.cancel()
        self._alarms.close()
        if self._server is not None:
            self._server.close()
        for peer in list(self._peers):
            peer.close()
        await self._journal.close()

    def _call_later(self, delay: float, then: Callable[[], None]) -> None:
        self._giving_up = self._loop.call_later(delay, then)

    def _tick(self) -> None:
        self._timer = self._loop.call_later(TICK, self._tick)
        self.service.tick()
        self.board.tick()
        if not self._peers:
            self._alone.set()


class _Peer(asyncio.Protocol):
    """A worker's connection."""

    def __init__(self, service: LedgerService, board: BoardService, schedules: ScheduleService, peers: set["_Peer"]) -> None:
        self._service = service
        self._board = board
        self._schedules = schedules
        self._peers = peers
        self._frames = from_workers()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # uvloop's own class
        self._peers.add(self)

    def data_received(self, data: bytes) -> None:
        try:
            for message in self._frames.feed(data):
                if isinstance(message, ScheduleEvents):
                    self._schedules.received(self, message)
                elif isinstance(message, BoardHello | BoardTold):
                    self._board.received(self, message)
                else:
                    self._service.received(self, message)
        except Malformed as error:
            log.error("a worker sent what is no message of ours (%s); its connection is closed", error)
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._peers.discard(self)
        self._transport = None
        self._service.lost(self)
        self._board.lost(self)
        self._schedules.lost(self)

    def send(self, message: Message) -> None:
        if self._transport is None:
            return
        self._transport.write(frame(message))
        if self._transport.get_write_buffer_size() > MAX_UNREAD:
            log.warning("a worker does not read what the coordinator answers; its connection is closed")
            self._transport.abort()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()
