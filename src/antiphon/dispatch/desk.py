"""Where the calls of one deployment are scheduled: the scheduler's driver in real time."""

from collections import deque
from collections.abc import Sequence
from typing import Protocol

from antiphon.core.ports import Clock
from antiphon.core.schedules import RouteState
from antiphon.dispatch.alarms import Alarms
from antiphon.scheduling.info import Reported
from antiphon.scheduling.job import Decision, Degrade, Dispatch, Job, Refuse
from antiphon.scheduling.scheduler import Scheduler


class Waiter(Protocol):
    """A call that waits for decisions."""

    def dispatch(self, decision: Dispatch, waited: float) -> None:
        """Ask that replica, after having waited so many seconds."""

    def withdraw(self, replica: int) -> None:
        """Stop asking that replica."""

    def refuse(self, decision: Refuse) -> None:
        """Tell the caller."""

    def degrade(self, decision: Degrade) -> None:
        """Have something lighter answer; the desk hears of the call no more."""


class Desk(Protocol):
    """Takes what happens to calls, and tells them what to do, maybe before it returns."""

    def arrived(self, job: Job, waiter: Waiter) -> None: ...
    def first_token(self, job_id: int, replica: int) -> None: ...
    def finished(self, job_id: int, replica: int, output_tokens: int) -> None: ...
    def failed(self, job_id: int, replica: int, *, retryable: bool, blame: bool, unreachable: bool, retry_after: float) -> None: ...
    def gone(self, job_id: int) -> None: ...


class PolledDesk(Desk, Protocol):
    """A desk that takes what replicas tell of their load, too."""

    def polls(self) -> bool:
        """Whether it is for this process to ask them; another one may do that for all."""

    def told(self, replica: int, reported: Reported, since: float) -> None:
        """A replica told its load, as it was at some moment between ``since``, of the monotonic clock, and now."""


class LocalDesk:
    """The scheduler lives in this process.

    Decisions are carried out one after the other: what one of them brings about at once comes behind those that are made already.
    """

    def __init__(self, scheduler: Scheduler, clock: Clock, alarms: Alarms) -> None:
        self._scheduler = scheduler
        self._clock = clock
        self._alarms = alarms
        self._waiters: dict[int, Waiter] = {}
        self._todo: deque[Decision] = deque()
        self._obeying = False

    @property
    def busy(self) -> bool:
        """It has calls."""
        return bool(self._waiters)

    def state(self, name: str) -> RouteState:
        """How the route of that name is doing."""
        return self._scheduler.state(name, self._clock.monotonic())

    def arrived(self, job: Job, waiter: Waiter) -> None:
        self._waiters[job.id] = waiter
        self._obey(self._scheduler.arrived(job, self._clock.monotonic()))

    def first_token(self, job_id: int, replica: int) -> None:
        self._obey(self._scheduler.first_token(job_id, replica, self._clock.monotonic()))

    def finished(self, job_id: int, replica: int, output_tokens: int) -> None:
        self._waiters.pop(job_id, None)
        self._obey(self._scheduler.finished(job_id, replica, output_tokens, self._clock.monotonic()))

    def failed(self, job_id: int, replica: int, *, retryable: bool, blame: bool, unreachable: bool, retry_after: float) -> None:
        self._obey(
            self._scheduler.failed(
                job_id,
                replica,
                self._clock.monotonic(),
                retryable=retryable,
                blame=blame,
                unreachable=unreachable,
                retry_after=retry_after,
            )
        )

    def gone(self, job_id: int) -> None:
        decisions = self._scheduler.gone(job_id, self._clock.monotonic())
        self._obey(decisions)
        self._waiters.pop(job_id, None)

    def told(self, replica: int, reported: Reported, since: float) -> None:
        self._obey(self._scheduler.metrics(replica, reported, self._clock.monotonic(), since))

    def tick(self) -> None:
        """Time has passed."""
        self._obey(self._scheduler.tick(self._clock.monotonic()))

    def _obey(self, decisions: Sequence[Decision]) -> None:
        self._todo.extend(decisions)
        if self._obeying:
            return
        self._obeying = True
        try:
            while self._todo:
                self._carry_out(self._todo.popleft())
        finally:
            self._obeying = False
        self._alarms.at(self._scheduler.next_alarm(), self)

    def _carry_out(self, decision: Decision) -> None:
        job = decision.job
        if isinstance(decision, Refuse):
            refused = self._waiters.pop(job.id, None)
            if refused is not None:
                refused.refuse(decision)
            return
        if isinstance(decision, Degrade):
            degraded = self._waiters.pop(job.id, None)
            if degraded is not None:
                degraded.degrade(decision)
            return
        waiter = self._waiters.get(job.id)
        if waiter is None:
            return
        if isinstance(decision, Dispatch):
            waiter.dispatch(decision, max(0.0, self._clock.monotonic() - job.arrived))
        else:
            waiter.withdraw(decision.replica)
