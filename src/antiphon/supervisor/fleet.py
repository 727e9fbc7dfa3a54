"""All processes of a server: started together, changed one by one, ended in order."""

import asyncio
import logging
import os
import time
from collections.abc import Callable, Sequence

import msgspec

from antiphon.bootstrap.plan import PlannedProcess
from antiphon.bootstrap.state import write_state
from antiphon.core.errors import SetupError
from antiphon.core.processes import ProcessError, ServerState
from antiphon.supervisor.child import Assignment
from antiphon.supervisor.cover import Cover, accepts
from antiphon.supervisor.keeper import Keeper, Timings
from antiphon.supervisor.notice import Notice
from antiphon.supervisor.sockets import PublicSockets

log = logging.getLogger(__name__)

Shares = dict[str, tuple[int, ...]]
"""For each worker the descriptors of its public sockets."""


class Fleet:
    """Keeps one keeper a name, and the state file true."""

    def __init__(
        self,
        run_dir: str,
        sockets: PublicSockets,
        timings: Timings,
        tell: Callable[[Notice], None],
        *,
        epoch: int,
        prepare: Callable[[PlannedProcess], None],
    ) -> None:
        self._run_dir = run_dir
        self._sockets = sockets
        self._timings = timings
        self._tell = tell
        self._prepare = prepare
        self._cover = Cover(sockets)
        self._moved = asyncio.Event()
        """A process has changed its state."""
        self._changing = asyncio.Lock()
        self._watch: list[asyncio.Task[None]] = []
        self._keepers: dict[str, Keeper] = {}
        self._alive: set[Keeper] = set()
        """Also those that leave, or are about to be a successor."""
        self._leaving: dict[Keeper, asyncio.Task[None]] = {}
        """Those that are not asked for any more and finish what they have begun, whatever is asked for meanwhile."""
        self._wanted: set[str] = set()
        """Names of the processes that the settings ask for; while these change, also those of before."""
        self._state = ServerState(os.getpid(), epoch, sockets.host, sockets.port, time.time(), False, ())

    @property
    def epoch(self) -> int:
        """Of the settings in force, or of those that were tried last."""
        return self._state.epoch

    def start(self, planned: Sequence[PlannedProcess]) -> None:
        """Start all of them at once."""
        shares = self._shares(planned)
        self._wanted = {process.name for process in planned}
        for process in planned:
            self._keepers[process.name] = self._keep(process, shares)
        self._watch.append(asyncio.create_task(self._see_to_sockets(), name="see-to-sockets"))
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

        It returns once everything that is asked for is there; what is not asked for any more may still finish what it has begun,
        for as long as the grace. Raises SetupError where a new process does not start: the one it should replace goes on, and the
        change ends there.
        """
        async with self._changing:
            try:
                await self._change(planned, grace)
            finally:
                await self._look()
                self.note()

    async def drain(self, grace: float) -> None:
        """End all processes, each after those that need it. The grace is for all of them together."""
        deadline = time.monotonic() + grace
        seeing_off = [*self._leaving.values(), *self._watch]
        for task in seeing_off:
            task.cancel()
        await asyncio.gather(*seeing_off, return_exceptions=True)
        self._cover.close()
        remaining = set(self._alive)
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
        shown = {keeper.name: keeper.state for keeper in (*self._leaving, *self._keepers.values())}
        self._state = msgspec.structs.replace(
            self._state,
            processes=tuple(shown[name] for name in dict.fromkeys((*self._keepers, *shown))),
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
        names = {process.name for process in planned}
        self._wanted |= names
        services = [process for process in planned if process.role != "worker"]
        returning = {process.name for process in services} - self._keepers.keys()  # no model and no journal may be there twice
        await asyncio.gather(*(asyncio.shield(task) for keeper, task in self._leaving.items() if keeper.name in returning))
        running = {name: keeper.assignment.planned for name, keeper in self._keepers.items()}
        coming = [process for process in services if process.name not in running]
        for process in coming:
            if process.role != "coordinator":
                self._keepers[process.name] = self._keep(process, shares)
        for process in coming:
            if process.role == "coordinator":  # which workers ask as soon as they are told
                await self._replace(process, shares, grace)
        changed = [process for process in services if process.name in running and process.replaces(running[process.name])]
        for process in changed:
            if process.role != "engine" and not await self._update(process):
                await self._replace(process, shares, grace)
        await self._change_workers([process for process in planned if process.role == "worker"], shares, grace)
        self._wanted = names
        self._let_go(grace)
        for process in changed:
            if process.role == "engine":  # two of one model at once might not fit into the memory
                await self._end([self._keepers[process.name]], grace)
                self._keepers[process.name] = self._keep(process, shares)

    async def _change_workers(self, planned: Sequence[PlannedProcess], shares: Shares, grace: float) -> None:
        """One first: what it refuses, all would refuse. Then the others that can be told, and those that must be started.

        Sockets change hands last: of those that leave only once others accept on them, of those that stay only to who is there.
        """
        first, *others = planned
        told = [await self._update(first), *await asyncio.gather(*(self._update(process) for process in others))]
        fresh = [process for process, done in zip(planned, told, strict=True) if not done]
        if fresh and fresh[0] is first:
            await self._replace(fresh.pop(0), shares, grace)
        for failure in await asyncio.gather(*(self._replace(process, shares, grace) for process in fresh), return_exceptions=True):
            if failure is not None:
                raise failure
        for process in planned:
            keeper = self._keepers[process.name]
            if keeper.assignment.listen_fds != shares[process.name] and not await accepts(keeper, shares[process.name]):
                await self._replace(process, shares, grace)

    async def _update(self, process: PlannedProcess) -> bool:
        """Have a running process go over to new settings; False where it must be replaced. Raises SetupError where it refuses."""
        keeper = self._keepers.get(process.name)
        if keeper is None or not keeper.takes_updates or not process.follows(keeper.assignment.planned):
            return False
        error = await keeper.update(process, self._state.epoch)
        if error is not None and error.setup:
            raise SetupError(f"{process.name} keeps the old settings: {error.message}", remedy=error.remedy)
        return error is None

    async def _replace(self, process: PlannedProcess, shares: Shares, grace: float) -> None:
        """Start a process that is not there or can no longer be told; once it is ready its predecessor leaves."""
        fresh = self._keep(process, shares)
        old = self._keepers.get(process.name)
        if error := await asyncio.shield(fresh.first):
            fresh.kill()
            await self._end([fresh], 0.0)
            comfort = ", the old one goes on" if old else ""
            raise SetupError(f"the new {process.name} did not start{comfort}: {error.message}", remedy=error.remedy)
        self._keepers[process.name] = fresh
        if old is not None:
            self._see_off(old, grace)
        self.note()

    def _let_go(self, grace: float) -> None:
        """See off what nobody asks for and nobody that is still there needs."""
        needed = {name for keeper in self._alive for name in keeper.assignment.planned.needs}
        for name in self._keepers.keys() - self._wanted - needed:
            self._see_off(self._keepers.pop(name), grace)
        self.note()

    def _see_off(self, keeper: Keeper, grace: float) -> None:
        """Let a process finish what it has begun, and then let go what only it has needed."""
        grace = max(grace, keeper.assignment.planned.settings.server.grace)  # it may go by settings of before

        async def leave() -> None:
            try:
                await self._end([keeper], grace)
            finally:
                del self._leaving[keeper]
            self._let_go(grace)

        self._leaving[keeper] = asyncio.create_task(leave(), name=f"see-off-{keeper.name}")

    async def _see_to_sockets(self) -> None:
        """Whenever a process came or went, while nothing is being changed."""
        while True:
            await self._moved.wait()
            self._moved.clear()
            async with self._changing:
                await self._look()

    async def _look(self) -> None:
        await self._cover.look(self._of_role("worker"), self._alive - self._leaving.keys())

    async def _end(self, keepers: Sequence[Keeper], grace: float) -> None:
        await asyncio.gather(*(keeper.stop(grace) for keeper in keepers))
        self._alive.difference_update(keepers)

    def _keep(self, process: PlannedProcess, shares: Shares) -> Keeper:
        assignment = Assignment(process, self._run_dir, self._state.epoch, shares.get(process.name, ()))
        keeper = Keeper(assignment, self._timings, tell=self._tell, changed=self._has_moved, prepare=self._prepare)
        self._alive.add(keeper)
        return keeper

    def _has_moved(self) -> None:
        self._moved.set()
        self.note()

    def _shares(self, planned: Sequence[PlannedProcess]) -> Shares:
        held = {keeper.name: keeper.assignment.listen_fds for keeper in self._of_role("worker")}
        # where others listen already, a socket must wait for its worker to be there, which may fail to start
        return self._sockets.deal([process.name for process in planned if process.role == "worker"], held, listening=not held)

    def _of_role(self, role: str) -> list[Keeper]:
        return [keeper for keeper in self._keepers.values() if keeper.role == role]
