"""Sends finished calls to where they are recorded, and never makes a call wait for it."""

import asyncio
import contextlib
import errno
import logging
import os
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, Literal, TypeVar

import msgspec

from antiphon.core.errors import AntiphonError
from antiphon.core.events import CallFinished, EventBundle
from antiphon.core.ports import EventSink
from antiphon.observability.events.report import PipeReport
from antiphon.observability.events.spill import SUFFIX, Spill

GATHER: Final = 0.1
"""Seconds for which events gather into one bundle."""
BUNDLE: Final = 256
"""Events of one bundle at most: encoding one takes about as many microseconds."""
MAX_EVENTS: Final = 20_000
"""Events that may wait to become bundles."""
MAX_BUNDLES: Final = 16
"""Bundles that may wait in memory while the sink is slow; what comes then goes to the disk."""
FIRST_PAUSE: Final = 0.2
LAST_PAUSE: Final = 5.0
"""Seconds between two tries of a sink that takes nothing: the first, doubled each time, and the longest."""
STARTING: Final = 5.0
"""Seconds from the start in which a sink that has not taken anything yet is not complained of: it may still be starting too."""
LAST_CHANCE: Final = 2.0
"""Seconds that the sink has for what waits when the process ends."""

T = TypeVar("T")

_Trouble = Literal["sink", "loss", "disk"]
"""What may be wrong, each complained of by itself, so that two troubles at once do not fill the log in turns."""

log = logging.getLogger(__name__)


class EventPipe:
    """Observer that hands finished calls to ``sink`` in bundles, each at least once. Create and use it on the running loop.

    While the sink is slow or down the bundles wait in a file in ``folder``, at most ``max_bytes`` of them, and so survive the
    process; a later one, on the same folder, delivers what an earlier one left behind. What a killed process had not yet written,
    that is the events of about ``GATHER`` seconds, is lost.
    """

    def __init__(
        self,
        sink: EventSink,
        folder: Path,
        *,
        max_bytes: int,
        gather: float = GATHER,
        starting: float = STARTING,
        last_chance: float = LAST_CHANCE,
    ) -> None:
        self._sink = sink
        self._folder = folder
        self._max_bytes = max_bytes
        self._gather = gather
        self._last_chance = last_chance
        self._instance = f"{os.getpid()}-{time.time_ns()}"
        self._number = 0
        self._events: list[CallFinished] = []
        self._bundles: deque[tuple[bytes, int]] = deque()
        self._spill = Spill(folder / f"{self._instance}{SUFFIX}", max_bytes)
        self._disk = ThreadPoolExecutor(1, thread_name_prefix="event-spill")
        self._encode = msgspec.msgpack.Encoder().encode
        self._something = asyncio.Event()
        self._closing = asyncio.Event()
        self._patient_until = time.monotonic() + starting
        self._complaints: dict[_Trouble, str] = {}
        self._delivered = self._spilled = self._lost = 0
        self._tasks = [asyncio.create_task(self._bundle_up()), asyncio.create_task(self._send_all())]

    def call_finished(self, event: CallFinished) -> None:
        if len(self._events) >= MAX_EVENTS or self._closing.is_set():
            self._lose(1, f"{MAX_EVENTS} wait already", "see in the log why the control plane takes them so slowly")
            return
        self._events.append(event)

    def report(self) -> PipeReport:
        return PipeReport(self._delivered, self._spilled, self._lost, self._spill.size)

    async def close(self) -> None:
        """Deliver what waits within ``last_chance`` seconds; what is left then goes to the disk. Further events are lost."""
        self._closing.set()
        self._something.set()
        bundling, sending = self._tasks
        await bundling
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._last_chance):
                await asyncio.shield(sending)
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        await self._spill_bundles()
        await self._on_disk(self._spill.close)
        self._disk.shutdown()

    async def _bundle_up(self) -> None:
        ended = False
        while not ended:
            ended = self._closing.is_set()  # also where it was closed before this began: what has been told is bundled first
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._gather):
                    await self._closing.wait()
            while self._events:
                events, self._events = self._events[:BUNDLE], self._events[BUNDLE:]
                self._number += 1
                try:
                    bundle = self._encode(EventBundle(self._instance, self._number, tuple(events)))
                except UnicodeEncodeError:  # a lone surrogate in a name
                    self._lose(len(events), "a name in them is not Unicode", "have callers send UTF-8")
                    continue
                if self._spill or len(self._bundles) >= MAX_BUNDLES:
                    await self._keep(bundle, len(events))
                else:
                    self._bundles.append((bundle, len(events)))
                self._something.set()
                await asyncio.sleep(0)

    async def _send_all(self) -> None:
        """Deliver from memory, then from disk, then what earlier processes left, until closing."""
        pause = FIRST_PAUSE
        looked = False
        while True:
            if self._bundles:
                delivered = await self._send_from_memory()
            elif self._spill:
                delivered = await self._send_from(self._spill)
            elif not looked:
                delivered = looked = await self._send_abandoned()
            elif self._closing.is_set():
                return
            else:
                self._something.clear()
                await self._something.wait()
                continue
            if delivered:
                pause = FIRST_PAUSE
                continue
            if self._closing.is_set():
                return
            await asyncio.sleep(pause)
            pause = min(LAST_PAUSE, pause * 2)

    async def _send_from_memory(self) -> bool:
        bundle, count = self._bundles[0]
        if not await self._taken(bundle):
            await self._spill_bundles()
            return False
        self._bundles.popleft()
        self._delivered += count
        return True

    async def _send_from(self, spill: Spill) -> bool:
        try:
            bundle = await self._on_disk(spill.first)
        except OSError as error:
            self._complain("disk", f"what waits in {self._folder} cannot be read now: {error.strerror or error}; look at that disk")
            return False
        if bundle is None:
            return True
        if not await self._taken(bundle):
            return False
        await self._on_disk(lambda: spill.drop(bundle))
        self._delivered += _count(bundle)
        return True

    async def _send_abandoned(self) -> bool:
        """Whether all that earlier processes left behind was delivered."""
        spills = await self._on_disk(lambda: list(Spill.abandoned(self._folder, self._max_bytes)))
        done = True
        for spill in spills:
            try:
                while done and spill:
                    done = await self._send_from(spill)
            finally:
                await self._on_disk(spill.close)
        return done

    async def _taken(self, bundle: bytes) -> bool:
        try:
            await self._sink.send(bundle)
        except AntiphonError as error:
            if time.monotonic() >= self._patient_until:
                why = f"{error.message}; calls go on, and are recorded once it takes them"
                self._complain("sink", f"calls are not recorded now and wait on disk, in {self._folder}: {why}")
            return False
        self._patient_until = 0.0
        if self._complaints:
            log.info("calls are recorded again")
            self._complaints.clear()
        return True

    async def _spill_bundles(self) -> None:
        while self._bundles:
            await self._keep(*self._bundles.popleft())

    async def _keep(self, bundle: bytes, count: int) -> None:
        try:
            await self._on_disk(lambda: self._spill.append(bundle))
        except OSError as error:
            self._lose(count, f"{self._folder} takes no more: {error.strerror or error}", _after(error))
        else:
            self._spilled += count

    def _lose(self, count: int, reason: str, remedy: str) -> None:
        self._lost += count
        self._complain("loss", f"records of calls are lost, while calls go on: {reason}; {remedy}")

    def _complain(self, trouble: _Trouble, complaint: str) -> None:
        """Warn, unless the same was said last of this trouble."""
        if complaint != self._complaints.get(trouble):
            self._complaints[trouble] = complaint
            log.warning("%s", complaint)

    async def _on_disk(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._disk, work)


def _after(error: OSError) -> str:
    """What to do about a folder that cannot be written to."""
    elsewhere = "or set data_dir to a folder on another disk; antiphon_events_lost_total counts them"
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return f"free some space there, {elsewhere}"
        case errno.EFBIG:
            return "raise server.event_spill_mb, or see why the control plane takes none; antiphon_events_lost_total counts them"
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return f"give this user the right to write there, {elsewhere}"
    return f"look at that disk, {elsewhere}"


class _Counted(msgspec.Struct):
    events: list[msgspec.Raw]


def _count(bundle: bytes) -> int:
    try:
        return len(msgspec.msgpack.decode(bundle, type=_Counted).events)
    except msgspec.MsgspecError:
        return 0
