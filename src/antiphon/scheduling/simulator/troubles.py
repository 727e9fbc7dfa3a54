"""Runs in which replicas die, fail calls, turn calls away or become slow, and in which they are asked for their load."""

from collections.abc import Sequence
from heapq import heappush
from math import inf
from random import Random
from typing import Literal

import msgspec

from antiphon.scheduling.info import Reported
from antiphon.scheduling.job import Decision, Dispatch
from antiphon.scheduling.simulator.driver import Run
from antiphon.scheduling.simulator.replica import ReplicaSpec

FAILS, BEGINS, ENDS, POLL = 4, 5, 6, 7


class Trouble(msgspec.Struct, frozen=True):
    """What befalls one replica, from a moment of virtual time to another."""

    replica: int
    kind: Literal["dead", "errors", "limited", "slow"]
    """It cannot be reached; it fails ``share`` of its calls; it turns calls away with a retry-after; it is ``times`` as slow."""
    since: float = 0.0
    until: float = inf
    after: float = 0.02
    """Seconds until a call hears that it has failed."""
    share: float = 1.0
    retry_after: float = 5.0
    times: float = 20.0


class TroubledRun(Run):
    """A run with troubles. Set them before it goes."""

    attempts_failed = 0
    """Calls that a replica failed, whatever became of them elsewhere."""

    def set_troubles(self, troubles: Sequence[Trouble], *, poll_every: float = inf, seed: int = 0) -> None:
        """``poll_every``: seconds between two looks at what the replicas say of their load."""
        self._troubles = list(troubles)
        self._chance = Random(seed)  # noqa: S311 - a run can be replayed
        self._failing: dict[tuple[int, int], float] = {}
        self._usual = [replica.spec for replica in self.replicas]
        self._poll_every = poll_every
        for place, trouble in enumerate(troubles):
            heappush(self._events, (trouble.since, BEGINS, place, 0))
            if trouble.until < inf:
                heappush(self._events, (trouble.until, ENDS, place, 0))
        if poll_every < inf:
            heappush(self._events, (poll_every, POLL, 0, 0))

    def _befall(self, kind: int, which: int, version: int) -> None:
        if kind == FAILS:
            self._fail(which, version)
        elif kind == POLL:
            self._poll()
        elif self._troubles[which].kind == "slow":
            trouble = self._troubles[which]
            self._hear(trouble.replica)
            usual = self._usual[trouble.replica]
            self.replicas[trouble.replica].spec = slower(usual, trouble.times) if kind == BEGINS else usual
            self._expect(trouble.replica)
        elif kind == BEGINS and self._troubles[which].kind == "dead":
            self._die(self._troubles[which])

    def _obey(self, decision: Decision) -> None:
        if isinstance(decision, Dispatch):
            for trouble in self._troubles:
                if trouble.replica == decision.replica and trouble.since <= self.now < trouble.until and self._strikes(trouble):
                    self.outcomes[decision.job.id].replicas += 1
                    self._will_fail(decision.job.id, decision.replica, trouble.after)
                    return
        super()._obey(decision)

    def _strikes(self, trouble: Trouble) -> bool:
        return trouble.kind != "slow" and (trouble.share >= 1 or self._chance.random() < trouble.share)

    def _will_fail(self, job_id: int, replica: int, after: float) -> None:
        self._failing[job_id, replica] = self.now + after
        heappush(self._events, (self.now + after, FAILS, job_id, replica))

    def _fail(self, job_id: int, replica: int) -> None:
        if self._failing.pop((job_id, replica), -1.0) != self.now:
            return
        self.attempts_failed += 1
        trouble = next((each for each in self._troubles if each.replica == replica and each.kind != "slow"), None)
        kind = trouble.kind if trouble is not None else "errors"
        rest = trouble.retry_after if trouble is not None and kind == "limited" else 0.0
        self._take(
            self.scheduler.failed(job_id, replica, self.now, blame=kind != "limited", unreachable=kind == "dead", retry_after=rest)
        )

    def _die(self, trouble: Trouble) -> None:
        """Whatever is there fails."""
        self._hear(trouble.replica)
        for job_id in list(self.scheduler.fleet.replicas[trouble.replica].out):
            self.replicas[trouble.replica].cancel(job_id)
            self._will_fail(job_id, trouble.replica, 0.0)
        self._expect(trouble.replica)

    def _poll(self) -> None:
        for which, replica in enumerate(self.replicas):
            self._hear(which)
            self._take(self.scheduler.metrics(which, Reported(replica.running, replica.waiting, replica.kv_usage), self.now))
        if self._events:
            heappush(self._events, (self.now + self._poll_every, POLL, 0, 0))

    def _take(self, decisions: Sequence[Decision]) -> None:
        for decision in decisions:
            self._obey(decision)


def slower(spec: ReplicaSpec, times: float) -> ReplicaSpec:
    """A replica that needs so many times as long for everything."""
    return msgspec.structs.replace(
        spec,
        prefill_rate=spec.prefill_rate / times,
        step_base_ms=spec.step_base_ms * times,
        step_per_sequence_ms=spec.step_per_sequence_ms * times,
        step_per_kilotoken_ms=spec.step_per_kilotoken_ms * times,
        prefill_attention_ms=spec.prefill_attention_ms * times,
        call_overhead_ms=spec.call_overhead_ms * times,
    )
