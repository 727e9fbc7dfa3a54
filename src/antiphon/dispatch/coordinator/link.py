"""A worker's connection to the coordinator: comes up by itself, as often as it must."""

import asyncio
import contextlib
import logging
import random
from typing import Final

from antiphon.core.errors import SetupError
from antiphon.dispatch.coordinator.alarm import Alarm
from antiphon.dispatch.coordinator.framing import Malformed, frame, from_coordinator
from antiphon.dispatch.coordinator.ledger.client import HEARTBEAT, CoordinatorLedger
from antiphon.dispatch.coordinator.party import Message, Party

FIRST_PAUSE: Final = 0.02
LAST_PAUSE: Final = 0.5
"""Seconds between two tries to connect."""

MAX_UNSENT: Final = 1 << 20
"""Bytes that may wait for the coordinator to read; what more there is to tell is put together until it does."""

DRAIN_WITHIN: Final = 2.0
"""Seconds that the last news has to arrive when a worker ends."""

log = logging.getLogger(__name__)


class CoordinatorLink(asyncio.Protocol):
    """Connects a ledger, and other parties, with the Unix socket at ``path``. Make it on the running loop, and close it."""

    def __init__(self, ledger: CoordinatorLedger, path: str, *others: Party) -> None:
        self._ledger = ledger
        self._parties: tuple[Party, ...] = (ledger, *others)
        self._path = path
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._frames = from_coordinator()
        self._broken = asyncio.Event()
        self._alarm = Alarm(self._flush)
        for party in self._parties:
            party.attach(self)
        self._beats = self._loop.call_later(HEARTBEAT / 2, self._beat)
        self._task = self._loop.create_task(self._keep_connected(), name="coordinator-link")

    async def ready(self, within: float) -> None:
        """Wait until the coordinator has taken this worker in. Raises SetupError where it does not."""
        deadline = self._loop.time() + within
        while not self._ledger.stats().connected:
            if self._loop.time() > deadline:
                raise SetupError(f"the coordinator did not answer within {within:g} s", remedy="its last lines in the log tell why")
            await asyncio.sleep(FIRST_PAUSE)

    async def close(self) -> None:
        """Tell the coordinator everything, give back what is held, and end the connection."""
        if self._transport is not None:
            told = asyncio.Event()
            self._ledger.drain(told.set)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(told.wait(), DRAIN_WITHIN)
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        self._beats.cancel()
        self._alarm.cancel()
        if self._transport is not None:
            self._ledger.leave()
            self._transport.close()

    # the parties' Link

    def send(self, message: Message) -> None:
        if self._transport is not None:
            self._transport.write(frame(message))

    def wake(self, delay: float) -> None:
        self._alarm.set(delay)

    # asyncio's protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # uvloop's own class
        self._frames = from_coordinator()
        for party in self._parties:
            party.connected()

    def data_received(self, data: bytes) -> None:
        try:
            for message in self._frames.feed(data):
                for party in self._parties:
                    party.received(message)
        except Malformed as error:
            log.error("the coordinator sent what is no message of ours (%s); connecting again", error)
            if self._transport is not None:
                self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        for party in self._parties:
            party.lost()
        self._broken.set()

    def _flush(self) -> None:
        if self._transport is None or self._transport.get_write_buffer_size() <= MAX_UNSENT:
            for party in self._parties:
                party.flush()

    def _beat(self) -> None:
        self._beats = self._loop.call_later(HEARTBEAT / 2, self._beat)
        if self._transport is None or self._transport.get_write_buffer_size() <= MAX_UNSENT:
            for party in self._parties:
                party.beat()

    async def _keep_connected(self) -> None:
        pause = FIRST_PAUSE
        while True:
            self._broken.clear()
            try:
                await self._loop.create_unix_connection(lambda: self, self._path)
            except OSError:
                pass
            else:
                pause = FIRST_PAUSE
                await self._broken.wait()
                log.warning("the connection to the coordinator is lost; limits that fail closed use what is in escrow")
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 - spreads the workers, guards nothing
            pause = min(LAST_PAUSE, 2 * pause)
