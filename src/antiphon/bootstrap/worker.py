"""Starts a data-plane worker: ``python -m antiphon.bootstrap.worker``, by the supervisor."""

import asyncio
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from antiphon.bootstrap.cycles import CycleWatch, collect_seldom
from antiphon.bootstrap.data_plane import DataPlane, Lasting
from antiphon.bootstrap.kept_responses import KeptResponses
from antiphon.bootstrap.process import Child, Update, run, socket_path
from antiphon.bootstrap.shared_state import SharedState
from antiphon.bootstrap.snapshots.file import Snapshot
from antiphon.bootstrap.worker_keys import WorkerKeys
from antiphon.config import Settings, listening_tls, proxy_rules
from antiphon.core.clock import SystemClock
from antiphon.core.errors import InternalError
from antiphon.core.ledger import Ledger
from antiphon.core.ports import Observer
from antiphon.dispatch.alarms import Alarms
from antiphon.dispatch.coordinator.schedules.worker_desks import WorkerDesks
from antiphon.gateway import app
from antiphon.observability.call_log import CallLog, DescriptorSink
from antiphon.observability.events.batch import Batch
from antiphon.observability.events.delivery import HttpSink
from antiphon.observability.events.pipe import EventPipe
from antiphon.observability.metrics import CallMetrics
from antiphon.transport.client import ClientPool, ClientTimeouts, Origin
from antiphon.transport.deadlines import DeadlineWheel
from antiphon.transport.listeners import unix_listener
from antiphon.transport.reception import Reception, Refusals, listen
from antiphon.transport.server import HttpServer, Listening, Request, Responder, ServerLimits
from antiphon.transport.tls import load_certificate

EVENT_TIMEOUTS = ClientTimeouts(connect=1.0, first_byte=5.0, idle=5.0)
"""Patience with the control plane, s; what it does not take meanwhile goes to the disk."""

MEETING = 5.0
"""Seconds that the coordinator has to come up where it keeps what callers may use."""

RETIRING = 0.1
"""Seconds between two looks whether the last call has ended that began with settings of before."""

encode = msgspec.json.Encoder().encode


async def main(child: Child) -> None:
    """Serve until asked to stop, then let running calls finish."""
    spec = child.spec
    worker = Worker(spec.snapshot or Snapshot.of(spec.settings, spec.epoch), spec.run_dir)
    await worker.listen(child.spec.name, child.spec.listen_fds)
    collect_seldom()
    worker.watch_cycles()
    child.ready(worker.take, worker.hold)
    await child.stopping.wait()
    await worker.end()


class Worker:
    """A data plane on its sockets, and all that is told of its calls. Create it on the running loop."""

    def __init__(self, snapshot: Snapshot, run_dir: str) -> None:
        settings = snapshot.settings
        self._run_dir = run_dir
        self._settings = settings
        self._wheel = DeadlineWheel(asyncio.get_running_loop())
        self._metrics = CallMetrics(_names(settings))
        self._call_log = _call_log(settings)
        self._control = ClientPool(Origin(socket_path=socket_path(run_dir, "control")), EVENT_TIMEOUTS, wheel=self._wheel)
        self._events = EventPipe(
            HttpSink(self._control), Path(settings.data_dir) / "events", max_bytes=settings.server.event_spill_mb << 20
        )
        self._finished = Batch(self._observers(), self._wheel)
        self._keys = WorkerKeys(settings.data_dir)
        self._keys.go_by(snapshot)
        self._responses = KeptResponses()
        self._alarms = Alarms(SystemClock(), asyncio.get_running_loop().call_later)
        self._desks = WorkerDesks(SystemClock(), self._alarms)
        self._plane = self._planned(snapshot)
        self._plane.begin()
        self._retired: dict[DataPlane, asyncio.Task[None]] = {}
        self._tls = listening_tls(settings.server)
        self._server = HttpServer(self._plane.app, _limits(settings), app.refusing(lambda: self._server.limits))
        self._stats = HttpServer(self._answer_stats)
        self._refusals = Refusals()
        self._public: dict[int, Listening] = {}
        """By the supervisor's numbers of the sockets."""
        self._name = ""
        self._shared: SharedState | None = None
        self._closed_shares: set[asyncio.Task[None]] = set()

    async def listen(self, name: str, public: Sequence[int]) -> None:
        """Serve on the private socket of this process and on public ones that are bound."""
        self._name = name
        self._share(self._settings)
        self._keys.follow()
        await self._stats.listen(unix_listener(socket_path(self._run_dir, name)))
        assert self._shared is not None
        if self._settings.limits:
            await self._shared.met(MEETING)
        await self.hold({fd: fd for fd in public})

    async def hold(self, public: Mapping[int, int | None]) -> None:
        """Accept on these public sockets alone, by the supervisor's numbers, with the descriptors of those that are new here."""
        if self._server.draining:
            raise InternalError("this worker is about to end")
        for number, fd in public.items():
            if fd is not None:
                rules = proxy_rules(self._settings.server)
                self._public[number] = await listen(self._server, socket.socket(fileno=fd), self._tls, rules, self._refusals)
            elif number not in self._public:
                raise InternalError(f"the public socket {number} is not here")
        for number in self._public.keys() - public.keys():
            self._server.leave(self._public.pop(number))

    def take(self, update: Update) -> None:
        """Go over to new settings: calls that come from now on see them, those under way end as they began.

        Raises an AntiphonError where they cannot be used; nothing has changed then.
        """
        snapshot = update.snapshot or Snapshot.of(update.settings, update.epoch)
        settings = snapshot.settings
        plane = self._planned(snapshot)
        if self._tls is not None:
            load_certificate(self._tls, settings.server.tls_cert, settings.server.tls_key)
        self._finished.flush()
        self._metrics.know(_names(settings))
        if settings.server.log_calls != self._settings.server.log_calls:
            ended, self._call_log = self._call_log, _call_log(settings)
            self._finished.observers = self._observers()
            if ended is not None:
                asyncio.get_running_loop().run_in_executor(None, ended.close)
        self._settings = settings
        self._server.limits = _limits(settings)
        self._server.handler = plane.app
        for listening in self._public.values():
            if isinstance(listening, Reception):
                listening.proxies = proxy_rules(settings.server)
        self._keys.go_by(snapshot)
        self._share(settings)
        old, self._plane = self._plane, plane
        old.retire()
        plane.begin()
        self._retired[old] = asyncio.create_task(self._retire(old))

    def watch_cycles(self) -> None:
        """Bound what cycles may hold, should a call leave one."""
        CycleWatch(self._wheel)  # which the wheel keeps

    async def end(self) -> None:
        """Let running calls finish within the grace, and what is told of them arrive."""
        await self._server.drain(self._settings.server.grace, self._end_calls)
        await self._stats.close()
        for task in self._retired.values():
            task.cancel()
        for plane in (self._plane, *self._retired):
            await plane.close()
        await self._responses.close()
        self._alarms.close()
        if self._shared is not None:
            await self._shared.close()
        await self._keys.close()
        if self._closed_shares:  # all calls have ended, so none of them waits for long
            await asyncio.wait(self._closed_shares, timeout=MEETING)
        self._finished.flush()
        await self._events.close()
        await self._control.close()
        if self._call_log is not None:
            self._call_log.close()

    def _planned(self, snapshot: Snapshot) -> DataPlane:
        settings, keys = snapshot.settings, self._keys.ring(snapshot)
        responses = self._responses.store(settings)
        lasting = Lasting(self._wheel, self._finished, self._desks, self._ledger)
        return DataPlane(settings, keys, self._run_dir, lasting, responses)

    def _ledger(self) -> Ledger:
        assert self._shared is not None
        return self._shared.ledger

    def _share(self, settings: Settings) -> None:
        """Go over to what the coordinator keeps when other workers come, and back to what is one's own when they have gone."""
        if self._shared is not None and self._shared.suits(settings):
            return
        old, self._shared = self._shared, SharedState(settings, self._name, self._run_dir, self._desks)
        self._stats.handler = self._keys.beside(self._shared.beside(self._answer_stats))
        if old is not None:
            closing = asyncio.create_task(old.retire())
            self._closed_shares.add(closing)
            closing.add_done_callback(self._closed_shares.discard)

    def _end_calls(self) -> None:
        for plane in (self._plane, *self._retired):
            plane.in_flight.end()

    async def _retire(self, plane: DataPlane) -> None:
        while True:
            await asyncio.sleep(RETIRING)
            if not plane.busy:
                break
        await plane.close()
        del self._retired[plane]
        self._desks.keep(set().union(*(each.definitions for each in (self._plane, *self._retired))))

    def _observers(self) -> list[Observer]:
        return [self._metrics, self._events, *([self._call_log] if self._call_log is not None else [])]

    def _answer_stats(self, _: Request, responder: Responder) -> None:
        """The counters, for the control plane."""
        self._finished.flush()
        snapshot = self._metrics.snapshot(
            in_flight=sum(plane.in_flight.count for plane in (self._plane, *self._retired)),
            call_log_lost=self._call_log.lost if self._call_log is not None else 0,
            events=self._events.report(),
            refused=self._refusals.kinds,
            responses=self._responses.counts(),
        )
        responder.send(200, ((b"content-type", b"application/json"),), encode(snapshot))


def _call_log(settings: Settings) -> CallLog | None:
    return CallLog(DescriptorSink(sys.stderr.fileno())) if settings.server.log_calls else None


def _limits(settings: Settings) -> ServerLimits:
    server = settings.server
    return ServerLimits(max_body_bytes=server.max_body_mb << 20, header_timeout=server.header_timeout, keep_alive=server.keep_alive)


def _names(settings: Settings) -> set[str]:
    """Every name that a caller may use; others are counted as one, so that callers cannot fill the memory with names."""
    served = {model.name for row in settings.providers for model in row.models} | {model.name for model in settings.models}
    return served | set(settings.aliases) | {settings.embeddings.name}


if __name__ == "__main__":
    sys.exit(run(main))
