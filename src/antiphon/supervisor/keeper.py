"""Keeps one planned process running: starts it, waits until it is ready, watches it, starts it again, ends it."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from typing import Any

import msgspec

from antiphon.bootstrap.child_settings import child_settings
from antiphon.bootstrap.plan import PlannedProcess
from antiphon.bootstrap.process import Status, Update, socket_path
from antiphon.core.errors import AntiphonError
from antiphon.core.processes import ProcessError, ProcessState, State
from antiphon.supervisor.backoff import Backoff, BackoffPolicy
from antiphon.supervisor.child import Assignment, ChildProcess, describe_exit
from antiphon.supervisor.liveness import is_silent
from antiphon.supervisor.notice import Notice

log = logging.getLogger(__name__)

MOMENT = 0.5
"""Seconds that callers of a process may wait for it to be started again where another could answer them."""
LONG = 3.0
"""The same where none could."""

KILL_MARGIN = 2.0
"""Seconds beyond the grace after which a process that was asked to end is killed."""


class Timings(msgspec.Struct, frozen=True):
    """How patient the supervisor is. Seconds. Generous, because a loaded machine is slow and a killed process helps nobody."""

    ready: float = 30.0
    """From a process's start to its being ready."""
    engine_ready: float = 600.0
    """The same for an engine, which may have to convert its model first."""
    update: float = 10.0
    """For a process to go over to new settings."""
    ping_every: float = 5.0
    """Between questions to a process whether it is alive; 0 asks none."""
    ping_patience: float = 10.0
    """For an answer to one of them."""
    ping_misses: int = 3
    """Questions in a row without answer after which a process counts as hung."""
    backoff: BackoffPolicy = BackoffPolicy()


class Keeper:
    """Answers for one name. ``tell`` hears the news, ``changed`` is called whenever ``state`` is another.

    ``prepare`` is called before each start with what is started.
    """

    def __init__(
        self,
        assignment: Assignment,
        timings: Timings,
        *,
        tell: Callable[[Notice], None],
        changed: Callable[[], None],
        prepare: Callable[[PlannedProcess], None],
    ) -> None:
        self.assignment = assignment
        self.name = assignment.planned.name
        self.role = assignment.planned.role
        model = assignment.planned.model
        self.state = ProcessState(
            self.name, self.role, assignment.epoch, "starting", time.time(), model=model.name if model else ""
        )
        self.first: asyncio.Future[ProcessError | None] = asyncio.get_running_loop().create_future()
        """How the first start went: None once it was ready, else why it was not."""
        self._timings = timings
        self._tell = tell
        self._changed = changed
        self._prepare = prepare
        self._backoff = Backoff(timings.backoff)
        self._stopping = asyncio.Event()
        self._child: ChildProcess | None = None
        self._told: ProcessError | None = None
        self._ready = asyncio.Event()
        self._ready_at = 0.0
        self._takes_updates = False
        self.absent = False
        """The process has ended and is not back within a ``MOMENT``."""
        self.lost = False
        """It cannot be started, or is not back after ``LONG``."""
        self._late: asyncio.TimerHandle | None = None
        self._asked: dict[tuple[int, int], asyncio.Future[ProcessError | None]] = {}
        """What it has been told and not answered yet, by epoch and number of the share."""
        tell(Notice("starting", self.name))
        self._task = asyncio.create_task(self._keep(), name=f"keep-{self.name}")

    async def stop(self, grace: float) -> None:
        """End the process: ask, and kill it ``KILL_MARGIN`` seconds after the grace. One that is not ready yet gets no grace."""
        ready = self._ready.is_set()
        self._stopping.set()
        if self._late is not None:
            self._late.cancel()
        if self._child is not None and not self._child.ended.done():
            self._set("draining")
            self._child.terminate()
        limit = grace + KILL_MARGIN if ready else KILL_MARGIN
        reminder = asyncio.get_running_loop().call_later(limit, self._kill_late, limit)
        try:
            await asyncio.shield(self._task)
        finally:
            reminder.cancel()
        self._set("stopped", pid=0)
        self._tell(Notice("stopped", self.name))

    @property
    def takes_updates(self) -> bool:
        """Whether the process runs and can be told of new settings."""
        return self._takes_updates and self._ready.is_set() and not self._stopping.is_set()

    async def update(self, planned: PlannedProcess, epoch: int) -> ProcessError | None:
        """Tell the process, which ``takes_updates``, of the settings of ``planned``. None once it has gone over to them.

        A process that is started again later is started with what was last accepted.
        """
        assert self._child is not None
        self._child.update(Update(epoch, child_settings(planned.role, planned.settings), planned.sources))
        if error := await self._answer(epoch, 0):
            return error
        self.assignment = msgspec.structs.replace(self.assignment, planned=planned, epoch=epoch)
        self._set(self.state.state, epoch=epoch)
        return None

    async def share(self, listen_fds: tuple[int, ...], patience: float | None = None) -> ProcessError | None:
        """Have the process, which ``takes_updates``, accept on these public sockets alone. None once it does.

        It has ``patience`` seconds, or as many as for an update, but may still do so later.

        A process that is started again, also if this one ends meanwhile, is started with them.
        """
        assert self._child is not None
        self.forgo(listen_fds)
        return await self._answer(0, self._child.share(listen_fds), patience)

    def forgo(self, listen_fds: tuple[int, ...]) -> None:
        """Have the process accept on these public sockets alone once it is started again."""
        self.assignment = msgspec.structs.replace(self.assignment, listen_fds=listen_fds)

    def kill(self) -> None:
        """End the process at once and for good."""
        self._stopping.set()
        if self._child is not None:
            self._child.kill()

    async def _answer(self, epoch: int, share: int, patience: float | None = None) -> ProcessError | None:
        """What the process says to what it has just been told; None where it did so."""
        assert self._child is not None
        answer: asyncio.Future[ProcessError | None] = asyncio.get_running_loop().create_future()
        self._asked[epoch, share] = answer
        either: set[asyncio.Future[Any]] = {answer, self._child.ended}
        try:
            done, _ = await asyncio.wait(either, timeout=patience or self._timings.update, return_when=asyncio.FIRST_COMPLETED)
        finally:
            del self._asked[epoch, share]
        if answer not in done:
            return ProcessError(f"{self.name} did not go over to the new settings", remedy="its last lines in the log tell why")
        return answer.result()

    async def _keep(self) -> None:
        while True:
            self._ready.clear()
            self._told = None
            error = await self._live()
            healthy_for = time.monotonic() - self._ready_at if self._ready.is_set() else 0.0
            if self._stopping.is_set():
                self._settle(error)
                return
            pause = self._backoff.pause(healthy_for=healthy_for, setup=error.setup)
            if pause > MOMENT or not self._ready.is_set():
                self.absent = self.lost = True
            elif not self.absent:
                self._late = asyncio.get_running_loop().call_later(MOMENT, self._be_absent)
            self._set("waiting", pid=0, error=error, detail="")
            self._tell(Notice("failed", self.name, str(error)))
            self._settle(error)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), pause)
                return
            self._set("starting", restarts=self.state.restarts + 1)
            self._tell(Notice("restarting", self.name))

    async def _live(self) -> ProcessError:
        """One life of the process, from its start to why it ended."""
        self._prepare(self.assignment.planned)
        try:
            child = ChildProcess(self.assignment, self._hear)
        except AntiphonError as error:
            return ProcessError(error.message, error.code, error.remedy)
        self._child = child
        self._set(self.state.state, pid=child.pid)
        watch = asyncio.create_task(self._watch(child), name=f"watch-{self.name}")
        try:
            code = await asyncio.shield(child.ended)
        finally:
            watch.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watch
        return self._told or describe_exit(self.name, code)

    async def _watch(self, child: ChildProcess) -> None:
        """Kill the process where it does not become ready in time, or hangs later."""
        limit = self._timings.engine_ready if self.role == "engine" else self._timings.ready
        try:
            async with asyncio.timeout(limit):
                await self._ready.wait()
        except TimeoutError:
            self._told = ProcessError(f"{self.name} was not ready within {limit:g} s", remedy="its last lines in the log tell why")
            child.kill()
            return
        if self._timings.ping_every:
            await self._ping()
            self._told = ProcessError(f"{self.name} hung and was killed: it no longer answered on its socket")
            child.kill()

    async def _ping(self) -> None:
        """Return once too many questions in a row had no answer."""
        path = socket_path(self.assignment.run_dir, self.name)
        misses = 0
        while misses < self._timings.ping_misses:
            await asyncio.sleep(self._timings.ping_every)
            # one that is ending need not answer any more
            if self._stopping.is_set() or not await is_silent(path, self._timings.ping_patience):
                misses = 0
                continue
            misses += 1
            log.warning("%s does not answer (%d of %d)", self.name, misses, self._timings.ping_misses)

    def _hear(self, status: Status) -> None:
        if status.state == "failed":
            message = status.message or f"{self.name} failed"
            self._told = ProcessError(message, status.code, status.remedy, status.setup)
        elif status.state in ("updated", "refused"):
            self._hear_answer(status)
        elif self._stopping.is_set():
            return
        elif status.state == "loading":
            self._set("loading", detail=status.detail)
            self._tell(Notice("loading", self.name, status.detail))
        else:
            self._takes_updates = status.takes_updates
            self._set("ready", detail="", epoch=status.epoch or self.assignment.epoch, snapshot=status.snapshot)
            self._ready_at = time.monotonic()
            self._ready.set()
            self._be_back()
            self._tell(Notice("ready", self.name))
            self._settle(None)

    def _hear_answer(self, status: Status) -> None:
        answer = self._asked.get((status.epoch, status.share))
        if answer is None or answer.done():
            return
        if status.state == "updated" and status.epoch:
            self._set(self.state.state, epoch=status.epoch, snapshot=status.snapshot)
        refused = ProcessError(status.message or f"{self.name} refused the new settings", status.code, status.remedy, status.setup)
        answer.set_result(refused if status.state == "refused" else None)

    def _be_absent(self) -> None:
        self.absent = True
        self._late = asyncio.get_running_loop().call_later(LONG - MOMENT, self._be_lost)
        self._changed()

    def _be_lost(self) -> None:
        self.lost = True
        self._changed()

    def _be_back(self) -> None:
        self.absent = self.lost = False
        if self._late is not None:
            self._late.cancel()

    def _settle(self, error: ProcessError | None) -> None:
        if not self.first.done():
            self.first.set_result(error)

    def _kill_late(self, limit: float) -> None:
        if self._child is not None and not self._child.ended.done():
            log.warning("%s had not ended %g s after it was asked to; it is killed", self.name, limit)
            self._child.kill()

    def _set(self, state: State, **fields: object) -> None:
        since = {} if state == self.state.state else {"since": time.time()}
        self.state = msgspec.structs.replace(self.state, state=state, **since, **fields)
        self._changed()
