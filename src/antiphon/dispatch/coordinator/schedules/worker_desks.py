"""A worker's side: desks whose calls the coordinator schedules, and this worker alone while the coordinator is away."""

from itertools import count

from antiphon.core.ports import Clock
from antiphon.core.schedules import RouteState, RouteStates
from antiphon.dispatch.alarms import Alarms
from antiphon.dispatch.coordinator.party import Link, Message
from antiphon.dispatch.coordinator.schedules import messages
from antiphon.dispatch.coordinator.schedules.messages import ScheduleDecisions, ScheduleEvents
from antiphon.dispatch.definition import Definition
from antiphon.dispatch.desk import LocalDesk, PolledDesk, Waiter
from antiphon.scheduling.info import Reported
from antiphon.scheduling.job import Degrade, Dispatch, Job, Refuse


class WorkerDesks:
    """All desks of a worker, for as long as it lives: they outlast changes of settings that leave their definition alone.

    Without a connection, because this is the only worker or the coordinator is away, calls are scheduled here. Those that wait at
    the coordinator when it goes away come over; those that a replica answers go on.
    """

    def __init__(self, clock: Clock, alarms: Alarms) -> None:
        self._clock = clock
        self._alarms = alarms
        self._desks: dict[bytes, _WorkerDesk] = {}
        self._by_number: dict[int, _WorkerDesk] = {}
        self._numbers = count(1)
        self._link: Link | None = None
        self._items: list[messages.Item] = []
        self.linked = False
        """The coordinator is there."""

    def desk(self, definition: Definition) -> PolledDesk:
        """The desk of that definition."""
        key = definition.key
        desk = self._desks.get(key)
        if desk is None:
            number = next(self._numbers)
            local = LocalDesk(definition.scheduler(self._clock.monotonic()), self._clock, self._alarms)
            desk = self._desks[key] = self._by_number[number] = _WorkerDesk(self, number, definition, local, self._clock)
            if self.linked:
                self.tell(messages.Defined(number, definition))
        return desk

    def keep(self, definitions: set[bytes]) -> None:
        """Forget desks that no settings name any more and that have no calls."""
        for key, desk in list(self._desks.items()):
            if key not in definitions and not desk.busy:
                del self._desks[key], self._by_number[desk.number]
                if self.linked:
                    self.tell(messages.Forgotten(desk.number))

    def states(self) -> RouteStates:
        """How each route is doing that is scheduled here."""
        return RouteStates(tuple(desk.state() for desk in self._desks.values()))

    def tell(self, item: messages.Item) -> None:
        """Tell the coordinator, once what runs now is over."""
        self._items.append(item)
        if self._link is not None:
            self._link.wake(0.0)

    # -- party of the connection

    def attach(self, link: Link) -> None:
        self._link = link

    def connected(self) -> None:
        self.linked = True
        self._items.clear()
        for desk in self._desks.values():
            self.tell(messages.Defined(desk.number, desk.definition))
            desk.connected()

    def lost(self) -> None:
        self.linked = False
        self._items.clear()
        for desk in list(self._desks.values()):
            desk.lost()

    def received(self, message: Message) -> None:
        if isinstance(message, ScheduleDecisions):
            for item in message.items:
                desk = self._by_number.get(item.schedule)
                if desk is None:
                    continue
                if isinstance(item, messages.Poll):
                    desk.poll()
                else:
                    desk.decided(item)

    def flush(self) -> None:
        if self._items and self.linked and self._link is not None:
            items, self._items = tuple(self._items), []
            self._link.send(ScheduleEvents(items))  # type: ignore[arg-type]  # all of them are a worker's

    def beat(self) -> None:
        """Nothing is told by time."""


class _Remote:
    """A call that the coordinator schedules."""

    __slots__ = ("began", "job", "replicas", "waiter")

    def __init__(self, job: Job, waiter: Waiter) -> None:
        self.job = job
        self.waiter = waiter
        self.replicas: list[int] = []
        self.began = False


class _WorkerDesk:
    """One desk."""

    def __init__(self, desks: WorkerDesks, number: int, definition: Definition, local: LocalDesk, clock: Clock) -> None:
        self.number = number
        self.definition = definition
        self._desks = desks
        self._local = local
        self._clock = clock
        self._remote: dict[int, _Remote] = {}
        self._polls_for_all = False

    @property
    def busy(self) -> bool:
        """It has calls."""
        return bool(self._remote) or self._local.busy

    def state(self) -> RouteState:
        """How the route is doing, as far as it is scheduled here."""
        return self._local.state(self.definition.name)

    def arrived(self, job: Job, waiter: Waiter) -> None:
        if not self._desks.linked:
            self._local.arrived(job, waiter)
            return
        self._remote[job.id] = _Remote(job, waiter)
        self._desks.tell(messages.Arrived(self.number, job))

    def first_token(self, job_id: int, replica: int) -> None:
        remote = self._remote.get(job_id)
        if remote is None:
            self._local.first_token(job_id, replica)
            return
        remote.began = True
        for other in [index for index in remote.replicas if index != replica]:
            self._stop(remote, other)  # not by way of the coordinator: what comes from them meanwhile is not wanted
        self._tell(messages.FirstToken(self.number, job_id, replica))

    def finished(self, job_id: int, replica: int, output_tokens: int) -> None:
        if self._remote.pop(job_id, None) is None:
            self._local.finished(job_id, replica, output_tokens)
        else:
            self._tell(messages.Finished(self.number, job_id, replica, output_tokens))

    def failed(self, job_id: int, replica: int, *, retryable: bool, blame: bool, unreachable: bool, retry_after: float) -> None:
        remote = self._remote.get(job_id)
        if remote is None:
            self._local.failed(job_id, replica, retryable=retryable, blame=blame, unreachable=unreachable, retry_after=retry_after)
            return
        if replica in remote.replicas:
            remote.replicas.remove(replica)
        if self._desks.linked:
            self._tell(messages.Failed(self.number, job_id, replica, retryable, blame, unreachable, retry_after))
            return
        del self._remote[job_id]
        if retryable and not remote.replicas:  # the coordinator is away, and this worker has to find another replica
            self._local.arrived(remote.job, remote.waiter)
        elif not remote.replicas:
            remote.waiter.refuse(Refuse(remote.job, "failed", 1.0))

    def gone(self, job_id: int) -> None:
        remote = self._remote.pop(job_id, None)
        if remote is None:
            self._local.gone(job_id)
        else:
            self._tell(messages.Gone(self.number, job_id))

    def polls(self) -> bool:
        return self._polls_for_all or not self._desks.linked

    def told(self, replica: int, reported: Reported, since: float) -> None:
        if self._desks.linked:
            self._desks.tell(messages.Load(self.number, replica, reported, since))
        else:
            self._local.told(replica, reported, since)

    def connected(self) -> None:
        """The coordinator is there: it is told of the calls that replicas answer."""
        for remote in self._remote.values():
            for replica in remote.replicas:
                self._tell(messages.Running(self.number, remote.job, replica, remote.began))

    def lost(self) -> None:
        """It is gone: what waited there waits here."""
        self._polls_for_all = False
        for job_id, remote in list(self._remote.items()):
            if not remote.replicas:
                del self._remote[job_id]
                self._local.arrived(remote.job, remote.waiter)

    def poll(self) -> None:
        """The coordinator wants this worker to ask the replicas for their load."""
        self._polls_for_all = True

    def decided(self, item: messages.Sent | messages.Refused | messages.Degraded | messages.Withdrawn) -> None:
        """The coordinator's word about a call."""
        remote = self._remote.get(item.job)
        if remote is None:
            return  # its caller has left meanwhile, which the coordinator is about to hear
        if isinstance(item, messages.Refused):
            del self._remote[item.job]
            remote.waiter.refuse(Refuse(remote.job, item.reason, item.retry_after))
        elif isinstance(item, messages.Degraded):
            del self._remote[item.job]
            remote.waiter.degrade(Degrade(remote.job, item.way, item.reason, item.score))
        elif isinstance(item, messages.Withdrawn):
            if item.replica in remote.replicas:
                self._stop(remote, item.replica)
        elif not (item.hedge and remote.began):
            remote.replicas.append(item.replica)
            waited = max(0.0, self._clock.monotonic() - remote.job.arrived)
            remote.waiter.dispatch(Dispatch(remote.job, item.replica, item.reasons, item.hedge), waited)

    def _stop(self, remote: _Remote, replica: int) -> None:
        remote.replicas.remove(replica)
        remote.waiter.withdraw(replica)

    def _tell(self, item: messages.Item) -> None:
        if self._desks.linked:
            self._desks.tell(item)
