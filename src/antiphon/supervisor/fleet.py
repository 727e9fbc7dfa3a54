"""All processes of a server: started together, changed one by one, ended in order."""

import asyncio
import logging
import os
import time
from collections.abc import Callable, Iterable, Sequence

import msgspec

from antiphon.bootstrap.plan import PlannedProcess
from antiphon.bootstrap.state import write_state
from antiphon.core.errors import SetupError
from antiphon.core.processes import ProcessError, ServerState
from antiphon.supervisor.child import Assignment
from antiphon.supervisor.keeper import Keeper, Timings
from antiphon.supervisor.notice import Notice
from antiphon.supervisor.sockets import PublicSockets

log = logging.getLogger(__name__)


class Fleet:
    """Keeps one keeper a name, and the state file true."""

    def __init__(self, run_dir: str, sockets: PublicSockets, timings: Timings, tell: Callable[[Notice], None]) -> None:
        self._run_dir = run_dir
        self._sockets = sockets
        self._timings = timings
        self._tell = tell
        self._keepers: dict[str, Keeper] = {}
        self._alive: set[Keeper] = set()
        """Also those that make way for a successor, or are about to be one."""
        self._state = ServerState(os.getpid(), 1, sockets.host, sockets.port, time.time(), False, ())

    def start(self, planned: Sequence[PlannedProcess]) -> None:
        """Start all of them at once."""
        shares = self._shares(planned)
        for process in planned:
            self._keepers[process.name] = self._keep(process, shares)
        self.note()

    async def workers_ready(self) -> ProcessError | None:
        """Wait until every worker has started; what the first that failed died of."""
        for first in asyncio.as_completed([asyncio.shield(keeper.first) for keeper in self._of_role("worker")]):
            if error := await first:
                return error
        return None

    async def all_started(self) -> None:
        """Wait until every process is ready, or has failed at its first start."""
        await asyncio.gather(*(asyncio.shield(keeper.first) for keeper in self._keepers.values()))

    async def change(self, planned: Sequence[PlannedProcess], grace: float) -> None:
        """Go over to another plan. No call fails but those to an engine whose own settings changed, or that is gone.

        Raises SetupError where a new process does not start: the one it should replace goes on, and the change ends there.
        """
        try:
            await self._change(planned, grace)
        finally:
            # a connection that the kernel gives to a socket without a worker would wait for ever
            self._sockets.close_unused({fd for keeper in self._alive for fd in keeper.assignment.listen_fds})
            self.note()

    async def drain(self, grace: float, keepers: Iterable[Keeper] | None = None) -> None:
        """End processes, all by default, each after those that need it. The grace is for all of them together."""
        deadline = time.monotonic() + grace
        remaining = set(self._alive if keepers is None else keepers)
        while remaining:
            needed = {name for keeper in remaining for name in keeper.assignment.planned.needs}
            wave = [keeper for keeper in remaining if keeper.name not in needed] or list(remaining)
            await self._end(wave, max(0.0, deadline - time.monotonic()))
            remaining.difference_update(wave)

    def kill(self) -> None:
        """End all processes at once."""
        for keeper in self._alive:
            keeper.kill()

    def note(self, *, serving: bool | None = None, reload_error: str | None = None) -> None:
        """Bring the state file up to date."""
        self._state = msgspec.structs.replace(
            self._state,
            processes=tuple(keeper.state for keeper in self._keepers.values()),
            serving=self._state.serving if serving is None else serving,
            reload_error=self._state.reload_error if reload_error is None else reload_error,
        )
        try:
            write_state(self._run_dir, self._state)
        except OSError as error:  # a full disk must not end what runs
            log.warning("the state file could not be written: %s", error)

    async def _change(self, planned: Sequence[PlannedProcess], grace: float) -> None:
        self._state = msgspec.structs.replace(self._state, epoch=self._state.epoch + 1)
        shares = self._shares(planned)
        running = {name: keeper.assignment.planned for name, keeper in self._keepers.items()}
        services = [process for process in planned if process.role != "worker"]
        for process in services:
            if process.name not in running:
                self._keepers[process.name] = self._keep(process, shares)
        changed = [process for process in services if process.name in running and process.replaces(running[process.name])]
        for process in changed:
            if process.role != "engine" and not await self._update(process, shares):
                await self._replace(process, shares, grace)
        await self._change_workers([process for process in planned if process.role == "worker"], shares, grace)
        for process in changed:
            if process.role == "engine":  # two of one model at once might not fit into the memory
                await self._end([self._keepers[process.name]], grace)
                self._keepers[process.name] = self._keep(process, shares)
        wanted = {process.name for process in planned}
        await self.drain(grace, [self._keepers.pop(name) for name in running if name not in wanted])

    async def _change_workers(self, planned: Sequence[PlannedProcess], shares: dict[str, tuple[int, ...]], grace: float) -> None:
        """One first: what it refuses, all would refuse. Then those that can be told, at once, and the others one by one."""
        first, *others = planned
        told = [await self._update(first, shares), *await asyncio.gather(*(self._update(process, shares) for process in others))]
        for process, done in zip(planned, told, strict=True):
            if not done:
                await self._replace(process, shares, grace)

    async def _update(self, process: PlannedProcess, shares: dict[str, tuple[int, ...]]) -> bool:
        """Have a running process go over to new settings; False where it must be replaced. Raises SetupError where it refuses."""
        keeper = self._keepers.get(process.name)
        if keeper is None or not keeper.takes_updates or not process.follows(keeper.assignment.planned):
            return False
        if keeper.assignment.listen_fds != shares.get(process.name, ()):
            return False
        error = await keeper.update(process, self._state.epoch)
        if error is not None and error.setup:
            raise SetupError(f"{process.name} keeps the old settings: {error.message}", remedy=error.remedy)
        return error is None

    async def _replace(self, process: PlannedProcess, shares: dict[str, tuple[int, ...]], grace: float) -> None:
        fresh = self._keep(process, shares)
        old = self._keepers.get(process.name)
        if error := await asyncio.shield(fresh.first):
            fresh.kill()
            await self._end([fresh], 0.0)
            comfort = ", the old one goes on" if old else ""
            raise SetupError(f"the new {process.name} did not start{comfort}: {error.message}", remedy=error.remedy)
        self._keepers[process.name] = fresh
        self.note()
        if old is not None:
            await self._end([old], grace)

    async def _end(self, keepers: Sequence[Keeper], grace: float) -> None:
        await asyncio.gather(*(keeper.stop(grace) for keeper in keepers))
        self._alive.difference_update(keepers)

    def _keep(self, process: PlannedProcess, shares: dict[str, tuple[int, ...]]) -> Keeper:
        assignment = Assignment(process, self._run_dir, self._state.epoch, shares.get(process.name, ()))
        keeper = Keeper(assignment, self._timings, tell=self._tell, changed=self.note)
        self._alive.add(keeper)
        return keeper

    def _shares(self, planned: Sequence[PlannedProcess]) -> dict[str, tuple[int, ...]]:
        workers = [process.name for process in planned if process.role == "worker"]
        return dict(zip(workers, self._sockets.shares(len(workers)), strict=True))

    def _of_role(self, role: str) -> list[Keeper]:
        return [keeper for keeper in self._keepers.values() if keeper.role == role]
