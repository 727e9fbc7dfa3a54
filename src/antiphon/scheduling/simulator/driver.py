"""Drives a scheduler against simulated replicas in virtual time."""

from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush
from math import inf

import msgspec

from antiphon.scheduling.info import ReplicaInfo
from antiphon.scheduling.job import Decision, Degrade, Dispatch, Job, Refuse, Withdraw
from antiphon.scheduling.scheduler import Scheduler
from antiphon.scheduling.settings import SchedulerSettings
from antiphon.scheduling.simulator.replica import ReplicaSpec, SimulatedReplica


class Request(msgspec.Struct, frozen=True, gc=False):
    """A call of recorded traffic, with what only the replica finds out: the length of its answer."""

    job: Job
    output_tokens: int
    target: float
    """Seconds in which its answer was wanted."""
    patience: float = inf
    """Seconds for which its caller waits for a first token before leaving."""
    feasible: bool = True
    """An idle replica would have met the target."""


class Outcome(msgspec.Struct, gc=False):
    """What became of a request. Times are seconds of virtual time; 0 where it did not come so far."""

    request: Request
    first_token: float = 0.0
    finished: float = 0.0
    refused: str = ""
    """Why it was."""
    degraded: str = ""
    """Why something lighter answered it, which is not simulated."""
    left: bool = False
    """Its caller has left."""
    ended: float = 0.0
    """When it was answered, refused, degraded or given up."""
    cached_tokens: int = 0
    """Tokens of its prompt that the replica had in its prefix cache."""
    replicas: int = 0
    """Replicas that it was sent to."""

    @property
    def met(self) -> bool:
        """Its answer was in time."""
        return self.finished > 0 and self.finished - self.request.job.arrived <= self.request.target


class Sample(msgspec.Struct, frozen=True, gc=False):
    """How things stood at one moment of a run."""

    at: float
    waiting: int
    """Calls in the scheduler's queue and in those of the replicas."""
    busy: float
    """Seconds that all replicas together have computed up to then."""
    occupied: float
    """Seconds of all sequences together in which they ran up to then."""


def _no_clock() -> float:
    return 0.0


class Watch(msgspec.Struct, frozen=True):
    """What is to be noted of a run beside its outcomes."""

    every: float = inf
    """Seconds of virtual time between two samples."""
    clock: Callable[[], float] = _no_clock
    """Processor time in seconds, to measure the scheduler with. The run decides nothing by it."""


class Run:
    """One run."""

    def __init__(
        self,
        requests: Sequence[Request],
        specs: Sequence[ReplicaSpec],
        infos: Sequence[ReplicaInfo],
        policy: Sequence[tuple[str, float]],
        settings: SchedulerSettings,
        *,
        seed: int = 0,
        watch: Watch | None = None,
    ) -> None:
        self.replicas = [SimulatedReplica(spec) for spec in specs]
        self.scheduler = Scheduler(infos, policy, settings, seed=seed)
        self.outcomes = {request.job.id: Outcome(request) for request in requests}
        self.now = 0.0
        self.samples: list[Sample] = []
        self.events = 0
        """Events that the scheduler was told."""
        self.seconds_deciding = 0.0
        """What they took, by the clock of the watch."""
        self._watch = watch or Watch()
        self._sampled = 0.0
        self._events: list[tuple[float, int, int, int]] = [(request.job.arrived, 0, request.job.id, 0) for request in requests]
        heapify(self._events)
        self._versions = [0] * len(specs)
        self._tick = inf

    @property
    def ended(self) -> float:
        """When the last call was answered, refused, degraded or given up."""
        return max((outcome.ended for outcome in self.outcomes.values()), default=0.0)

    def go(self) -> None:
        """Run to the end: until every request was answered, refused, degraded or given up."""
        while self._events:
            upcoming, kind, which, version = heappop(self._events)
            while self._sampled <= upcoming:
                self._sample()
            self.now = upcoming
            if kind == 0:
                self._arrive(which)
            elif kind == 1 and version == self._versions[which]:
                self._hear(which)
            elif kind == 2:
                self._give_up(which)
            elif kind == 3 and self.now == self._tick:
                self._tick = inf
                self._ask(self.scheduler.tick)
            elif kind > 3:
                self._befall(kind, which, version)
            self._set_alarm()

    def _befall(self, kind: int, which: int, version: int) -> None:
        """Something happens that only a run with troubles knows."""

    def _sample(self) -> None:
        at = self._sampled
        waiting = self.scheduler.waiting + sum(replica.waiting for replica in self.replicas)
        busy, occupied = (
            sum(seconds) for seconds in zip(*((each.busy(at), each.occupied(at)) for each in self.replicas), strict=True)
        )
        self.samples.append(Sample(at, waiting, busy, occupied))
        self._sampled += self._watch.every

    def _arrive(self, job_id: int) -> None:
        request = self.outcomes[job_id].request
        if request.patience < inf:
            heappush(self._events, (self.now + request.patience, 2, job_id, 0))
        self._ask(self.scheduler.arrived, request.job)

    def _give_up(self, job_id: int) -> None:
        outcome = self.outcomes[job_id]
        if not (outcome.first_token or outcome.refused or outcome.degraded):
            outcome.left = True
            outcome.ended = self.now
            self._ask(self.scheduler.gone, job_id)

    def _hear(self, which: int) -> None:
        """What a replica told up to now."""
        told = self.replicas[which].advance(self.now)
        self._expect(which)
        for word in told:
            outcome = self.outcomes[word.call]
            if word.stage == "first_token":
                outcome.first_token = outcome.first_token or word.at
                outcome.cached_tokens = word.cached_tokens
                self._ask(self.scheduler.first_token, word.call, which)
            else:
                outcome.finished = outcome.ended = word.at
                self._ask(self.scheduler.finished, word.call, which, outcome.request.output_tokens)

    def _ask(self, event: Callable[..., list[Decision]], *what: Job | int) -> None:
        """Tell the scheduler of an event, and do what it decides."""
        clock = self._watch.clock
        before = clock()
        decisions = event(*what, self.now)
        self.seconds_deciding += clock() - before
        self.events += 1
        for decision in decisions:
            self._obey(decision)

    def _obey(self, decision: Decision) -> None:
        outcome = self.outcomes[decision.job.id]
        if isinstance(decision, Refuse):
            outcome.refused = decision.reason
            outcome.ended = self.now
            return
        if isinstance(decision, Degrade):
            outcome.degraded = decision.reason
            outcome.ended = self.now
            return
        self._hear(decision.replica)
        replica, job = self.replicas[decision.replica], outcome.request.job
        if isinstance(decision, Dispatch):
            outcome.replicas += 1
            replica.submit(job.id, job.prompt_tokens, outcome.request.output_tokens, job.blocks, self.now)
        elif isinstance(decision, Withdraw):
            replica.cancel(job.id)
        self._expect(decision.replica)

    def _expect(self, which: int) -> None:
        """Look at a replica again when something has happened there."""
        self._versions[which] += 1
        upcoming = self.replicas[which].next_change()
        if upcoming < inf:
            heappush(self._events, (upcoming, 1, which, self._versions[which]))

    def _set_alarm(self) -> None:
        upcoming = self.scheduler.next_alarm()
        if upcoming < self._tick:
            self._tick = max(upcoming, self.now)
            heappush(self._events, (self._tick, 3, 0, 0))
