"""Drives a scheduler against simulated replicas in virtual time."""

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from math import inf

import msgspec

from antiphon.scheduling.job import Decision, Dispatch, Job, Refuse, Withdraw
from antiphon.scheduling.replica import ReplicaInfo
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


class Outcome(msgspec.Struct, gc=False):
    """What became of a request. Times are seconds of virtual time; 0 where it did not come so far."""

    request: Request
    first_token: float = 0.0
    finished: float = 0.0
    refused: str = ""
    left: bool = False
    """Its caller has left."""
    cached_tokens: int = 0
    replicas: int = 0
    """Replicas that it was sent to."""

    @property
    def met(self) -> bool:
        """Its answer was in time."""
        return self.finished > 0 and self.finished - self.request.job.arrived <= self.request.target


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
    ) -> None:
        self.replicas = [SimulatedReplica(spec) for spec in specs]
        self.scheduler = Scheduler(infos, policy, settings, seed=seed)
        self.outcomes = {request.job.id: Outcome(request) for request in requests}
        self.now = 0.0
        self._events: list[tuple[float, int, int, int]] = [(request.job.arrived, 0, request.job.id, 0) for request in requests]
        heapify(self._events)
        self._versions = [0] * len(specs)
        self._tick = inf

    def go(self) -> None:
        """Run to the end: until every request was answered, refused or given up."""
        while self._events:
            self.now, kind, which, version = heappop(self._events)
            if kind == 0:
                self._arrive(which)
            elif kind == 1 and version == self._versions[which]:
                self._hear(which)
            elif kind == 2:
                self._give_up(which)
            elif kind == 3 and self.now == self._tick:
                self._tick = inf
                self._obey(self.scheduler.tick(self.now))
            self._set_alarm()

    def _arrive(self, job_id: int) -> None:
        request = self.outcomes[job_id].request
        if request.patience < inf:
            heappush(self._events, (self.now + request.patience, 2, job_id, 0))
        self._obey(self.scheduler.arrived(request.job, self.now))

    def _give_up(self, job_id: int) -> None:
        outcome = self.outcomes[job_id]
        if not outcome.first_token and not outcome.refused:
            outcome.left = True
            self._obey(self.scheduler.gone(job_id, self.now))

    def _hear(self, which: int) -> None:
        """What a replica told up to now."""
        told = self.replicas[which].advance(self.now)
        self._watch(which)
        for word in told:
            outcome = self.outcomes[word.call]
            if word.stage == "first_token":
                outcome.first_token = outcome.first_token or word.at
                outcome.cached_tokens = word.cached_tokens
                self._obey(self.scheduler.first_token(word.call, which, self.now))
            else:
                outcome.finished = word.at
                self._obey(self.scheduler.finished(word.call, which, outcome.request.output_tokens, self.now))

    def _obey(self, decisions: Sequence[Decision]) -> None:
        for decision in decisions:
            outcome = self.outcomes[decision.job.id]
            if isinstance(decision, Dispatch):
                outcome.replicas += 1
                self._hear(decision.replica)
                replica, request = self.replicas[decision.replica], outcome.request
                replica.submit(request.job.id, request.job.prompt_tokens, request.output_tokens, request.job.blocks, self.now)
                self._watch(decision.replica)
            elif isinstance(decision, Withdraw):
                self._hear(decision.replica)
                self.replicas[decision.replica].cancel(decision.job.id)
                self._watch(decision.replica)
            elif isinstance(decision, Refuse):
                outcome.refused = decision.reason

    def _watch(self, which: int) -> None:
        self._versions[which] += 1
        upcoming = self.replicas[which].next_change()
        if upcoming < inf:
            heappush(self._events, (upcoming, 1, which, self._versions[which]))

    def _set_alarm(self) -> None:
        upcoming = self.scheduler.next_alarm()
        if upcoming < self._tick:
            self._tick = max(upcoming, self.now)
            heappush(self._events, (self._tick, 3, 0, 0))
