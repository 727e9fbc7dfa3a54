"""The coordinator's side: it owns the schedulers of all workers of this machine."""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from antiphon.core.ports import Clock
from antiphon.core.schedules import RouteStates
from antiphon.dispatch.alarms import Alarms
from antiphon.dispatch.coordinator.schedules import messages
from antiphon.dispatch.coordinator.schedules.messages import ScheduleDecisions, ScheduleEvents
from antiphon.dispatch.definition import Definition
from antiphon.scheduling.job import Decision, Degrade, Dispatch, Job, Refuse

MAX_JOBS = 1 << 40
"""Jobs of one connection; their numbers stay apart from all others'."""


class Peer(Protocol):
    """A worker's connection."""

    def send(self, message: ScheduleDecisions) -> None: ...


class ScheduleStats(msgspec.Struct, frozen=True):
    """How the schedulers are doing."""

    schedules: int
    waiting: int
    jobs: int


class ScheduleService:
    """Takes what workers say, and tells each what to do with its calls."""

    def __init__(self, clock: Clock, alarms: Alarms) -> None:
        self._clock = clock
        self._alarms = alarms
        self._schedules: dict[bytes, _Schedule] = {}
        self._workers: dict[Peer, _Worker] = {}
        self._met = 0

    def received(self, peer: Peer, message: ScheduleEvents) -> None:
        """Take in a worker's news."""
        worker = self._workers.get(peer)
        if worker is None:
            self._met += 1
            worker = self._workers[peer] = _Worker(peer, self._met * MAX_JOBS)
        now = self._clock.monotonic()
        for item in message.items:
            if isinstance(item, messages.Defined):
                defined = worker.schedules[item.schedule] = self._schedule(item.definition, now)
                self._choose_poller(defined)
            elif isinstance(item, messages.Forgotten):
                forgotten = worker.schedules.pop(item.schedule, None)
                if forgotten is not None:
                    self._choose_poller(forgotten)
                self._tidy()
            elif (schedule := worker.schedules.get(item.schedule)) is not None:
                schedule.take(worker, item, now)
        self._flush()

    def lost(self, peer: Peer) -> None:
        """A worker's connection ended: nobody waits for its calls any more."""
        worker = self._workers.pop(peer, None)
        if worker is not None:
            now = self._clock.monotonic()
            for schedule in self._schedules.values():
                schedule.forget(worker, now)
                self._choose_poller(schedule)
            self._tidy()
            self._flush()

    def stats(self) -> ScheduleStats:
        """How the schedulers are doing."""
        schedules = self._schedules.values()
        return ScheduleStats(len(schedules), sum(each.waiting for each in schedules), sum(len(each.owners) for each in schedules))

    def states(self) -> RouteStates:
        """How each route is doing."""
        now = self._clock.monotonic()
        return RouteStates(tuple(schedule.scheduler.state(schedule.name, now) for schedule in self._schedules.values()))

    def _schedule(self, definition: Definition, now: float) -> "_Schedule":
        key = definition.key
        schedule = self._schedules.get(key)
        if schedule is None:
            schedule = self._schedules[key] = _Schedule(definition, self, now)
        return schedule

    def _choose_poller(self, schedule: "_Schedule") -> None:
        """See to it that one of the workers that have a schedule asks its replicas for their load: the first that is connected."""
        having = [
            (worker, number) for worker in self._workers.values() for number, each in worker.schedules.items() if each is schedule
        ]
        if schedule.poller not in having:
            schedule.poller = having[0] if having else None
            if having:
                worker, number = having[0]
                worker.items.append(messages.Poll(number))

    def _tidy(self) -> None:
        used = {id(schedule) for worker in self._workers.values() for schedule in worker.schedules.values()}
        for key, schedule in list(self._schedules.items()):
            if id(schedule) not in used and not schedule.owners:
                del self._schedules[key]

    def _flush(self) -> None:
        for worker in list(self._workers.values()):
            if worker.items:
                items, worker.items = tuple(worker.items), []
                worker.peer.send(ScheduleDecisions(items))

    def rung(self, schedule: "_Schedule") -> None:
        """Time has passed for a scheduler."""
        schedule.decided(schedule.scheduler.tick(self._clock.monotonic()))
        self._flush()

    def wake(self, schedule: "_Schedule") -> None:
        """See to it that a scheduler is woken when something of it is due."""
        self._alarms.at(schedule.scheduler.next_alarm(), schedule)


class _Worker:
    """A worker, as long as its connection stands."""

    def __init__(self, peer: Peer, base: int) -> None:
        self.peer = peer
        self.base = base
        self.schedules: dict[int, _Schedule] = {}
        self.items: list[messages.Sent | messages.Refused | messages.Degraded | messages.Withdrawn | messages.Poll] = []


class _Schedule:
    """One scheduler, and whose its jobs are."""

    def __init__(self, definition: Definition, service: ScheduleService, now: float) -> None:
        self.name = definition.name
        self.scheduler = definition.scheduler(now)
        self.owners: dict[int, tuple[_Worker, int]] = {}
        """Of each job: its worker, and the number of the schedule there."""
        self.poller: tuple[_Worker, int] | None = None
        """The worker that asks the replicas for their load, and the number of the schedule there."""
        self._service = service

    @property
    def waiting(self) -> int:
        return self.scheduler.waiting

    def tick(self) -> None:
        self._service.rung(self)

    def take(self, worker: _Worker, item: messages.Item, now: float) -> None:
        """Something happened to a call."""
        scheduler = self.scheduler
        match item:
            case messages.Arrived():
                self.decided(scheduler.arrived(self._own(worker, item.schedule, item.job), now))
            case messages.Running():
                scheduler.adopt(self._own(worker, item.schedule, item.job), item.replica, began=item.began, now=now)
            case messages.FirstToken():
                self.decided(scheduler.first_token(worker.base + item.job, item.replica, now))
            case messages.Finished():
                self.owners.pop(worker.base + item.job, None)
                self.decided(scheduler.finished(worker.base + item.job, item.replica, item.output_tokens, now))
            case messages.Failed():
                self.decided(
                    scheduler.failed(
                        worker.base + item.job,
                        item.replica,
                        now,
                        retryable=item.retryable,
                        blame=item.blame,
                        unreachable=item.unreachable,
                        retry_after=item.retry_after,
                    )
                )
            case messages.Gone():
                decisions = scheduler.gone(worker.base + item.job, now)
                self.owners.pop(worker.base + item.job, None)
                self.decided(decisions)
            case messages.Load():
                self.decided(scheduler.metrics(item.replica, item.reported, now, item.since))

    def forget(self, worker: _Worker, now: float) -> None:
        """A worker is gone, and its calls with it."""
        for job_id in [job_id for job_id, (owner, _) in self.owners.items() if owner is worker]:
            del self.owners[job_id]
            self.decided(self.scheduler.gone(job_id, now))

    def decided(self, decisions: Sequence[Decision]) -> None:
        """Tell the owners."""
        for decision in decisions:
            owner = self.owners.get(decision.job.id)
            if owner is None:
                continue
            worker, number = owner
            job = decision.job.id - worker.base
            if isinstance(decision, Dispatch):
                worker.items.append(messages.Sent(number, job, decision.replica, decision.reasons, decision.hedge))
            elif isinstance(decision, Refuse):
                del self.owners[decision.job.id]
                worker.items.append(messages.Refused(number, job, decision.reason, decision.retry_after))
            elif isinstance(decision, Degrade):
                del self.owners[decision.job.id]
                worker.items.append(messages.Degraded(number, job, decision.way, decision.reason, decision.score))
            else:
                worker.items.append(messages.Withdrawn(number, job, decision.replica))
        self._service.wake(self)

    def _own(self, worker: _Worker, number: int, job: Job) -> Job:
        own = msgspec.structs.replace(job, id=worker.base + job.id)
        self.owners[own.id] = (worker, number)
        return own
