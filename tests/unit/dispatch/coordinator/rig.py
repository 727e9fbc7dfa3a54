"""Workers and a coordinator without sockets: messages pass through the real frames, when the test lets them."""

import asyncio
from collections import deque

from antiphon.dispatch.coordinator.breakers.messages import BoardHello, BoardTold
from antiphon.dispatch.coordinator.breakers.service import BoardService, first_trial
from antiphon.dispatch.coordinator.breakers.worker_board import WorkerBoard
from antiphon.dispatch.coordinator.framing import frame, from_coordinator, from_workers
from antiphon.dispatch.coordinator.ledger.book import Book
from antiphon.dispatch.coordinator.ledger.client import CoordinatorLedger
from antiphon.dispatch.coordinator.ledger.journal import _key, _says_nothing
from antiphon.dispatch.coordinator.ledger.messages import Bye, Hello, Look, Told
from antiphon.dispatch.coordinator.ledger.service import LedgerService
from antiphon.testing import FakeClock

LEASE = 10.0
BEGIN = 1_699_999_980.0
"""A minute's beginning."""


class Wire:
    """A worker's connection: the Link of the worker and, at the other end, the Peer of the coordinator."""

    def __init__(self, rig, ledger, board):
        self.rig = rig
        self.ledger = ledger
        self.board = board
        self.up: deque[bytes] = deque()
        self.down: deque[bytes] = deque()
        self.awake = False
        self.alive = True
        """The worker's process lives."""
        self.linked = False
        ledger.attach(self)
        board.attach(self)

    def send(self, message):
        (self.up if isinstance(message, (Hello, Told, Look, Bye, BoardHello, BoardTold)) else self.down).append(frame(message))
        self.rig.stir()

    def close(self):
        self.cut()

    def wake(self, delay):
        self.awake = True
        self.rig.stir()

    def connect(self):
        self.linked = True
        self.read_up, self.read_down = from_workers(), from_coordinator()
        self.ledger.connected()
        self.board.connected()

    def cut(self):
        if self.linked:
            self.linked = False
            self.up.clear()
            self.down.clear()
            if self.rig.service is not None:
                self.rig.service.lost(self)
                self.rig.board.lost(self)
            if self.alive:
                self.ledger.lost()
                self.board.lost()


class Rig:
    lease = LEASE

    def __init__(self, *, eager=True, age=3600.0, lingers=False):
        self.lingers = lingers
        """The coordinator has a timer, so that what finds no room waits a moment."""
        self.timers = []
        self.age = age
        self.clock = FakeClock(unix_time=BEGIN)
        self.wires: list[Wire] = []
        self.rows = {}
        self.disk_full = False
        self.eager = eager
        self.stirred = False
        self.book = None
        self.service = None
        self.start()

    def start(self):
        """A coordinator starts, with what an earlier one kept."""
        self.book = Book(LEASE)
        self.book.load(list(self.rows.values()), self.clock.time(), self.clock.monotonic())
        self.service = LedgerService(self.book, self.clock, self.keep, self.call_later if self.lingers else None)
        self.board = BoardService(self.clock, first_trial(self.book.epoch))

    def call_later(self, delay, then):
        self.timers.append((self.clock.monotonic() + delay, then))

    def ring(self, seconds):
        """Let a moment pass for the coordinator's timers."""
        self.clock.advance(seconds)
        due = [then for at, then in self.timers if at <= self.clock.monotonic()]
        self.timers = [(at, then) for at, then in self.timers if at > self.clock.monotonic()]
        for then in due:
            then()
        self.pump()

    def keep(self, rows):
        if self.disk_full:
            return False
        for row in rows:
            self.rows[_key(row)] = row
            if _says_nothing(row):
                del self.rows[_key(row)]
        return True

    def kill_coordinator(self):
        self.service = None
        for wire in self.wires:
            wire.cut()

    def worker(self):
        wire = Wire(self, CoordinatorLedger(self.clock, f"session-{len(self.wires)}", age=self.age), WorkerBoard(self.clock))
        self.wires.append(wire)
        if self.service is not None:
            wire.connect()
            self.pump()
        return wire

    def stir(self):
        if self.eager and not self.stirred:
            self.stirred = True
            asyncio.get_running_loop().call_soon(self.pump)

    def pump(self):
        """Let everything that was said arrive."""
        self.stirred = False
        while self.service is not None and any(self.step(wire) for wire in self.wires):
            pass

    def step(self, wire):
        """Let one message of a worker's connection arrive, or let the worker speak; whether there was anything."""
        if not wire.linked:
            return False
        if wire.down and wire.alive:
            for message in wire.read_down.feed(wire.down.popleft()):
                wire.ledger.received(message)
                wire.board.received(message)
            return True
        if wire.awake and wire.alive and not wire.up:
            wire.awake = False
            wire.ledger.flush()
            wire.board.flush()
            return True
        if wire.up:
            for message in wire.read_up.feed(wire.up.popleft()):
                (self.board if isinstance(message, (BoardHello, BoardTold)) else self.service).received(wire, message)
            return True
        return False

    def pass_time(self, seconds):
        """Time passes; who lives shows it every second."""
        while seconds > 0:
            self.clock.advance(min(1.0, seconds))
            seconds -= 1.0
            for wire in self.wires:
                if wire.alive:
                    if not wire.linked and self.service is not None:
                        wire.connect()
                    wire.ledger.beat()
                    wire.board.beat()
            self.pump()
            if self.service is not None:
                self.service.tick()
                self.board.tick()
            self.pump()

    # the bench of the contract

    async def open(self):
        return self.worker().ledger

    async def kill(self, ledger):
        (wire,) = [wire for wire in self.wires if wire.ledger is ledger]
        wire.alive = False
        wire.cut()

    async def advance(self, seconds):
        self.pass_time(seconds)
