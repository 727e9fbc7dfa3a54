"""Processor time of the scheduler's decisions while many calls wait."""

import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from random import Random

from antiphon.bootstrap.cycles import collect_seldom
from antiphon.scheduling.info import ReplicaInfo
from antiphon.scheduling.job import Decision, Dispatch, Job
from antiphon.scheduling.scheduler import Scheduler
from antiphon.scheduling.settings import LimitSettings, QueueSettings, SchedulerSettings

QUEUED = 10_000
PROMISE = 20.0
"""Microseconds that a decision takes at most, on average."""

REPLICAS, PLACES, TENANTS = 8, 12, 50
PATIENT = SchedulerSettings(queue=QueueSettings(max_waiting=QUEUED + 1000, max_wait=(1e6, 1e6, 1e6), shed_from=1.0))
"""Nobody is refused, so that the queue stays as long as it is."""


class Bench:
    """A scheduler with a queue of constant length: for each call that is answered another one comes."""

    def __init__(self, policy: str, queued: int, seed: int = 0) -> None:
        limits = LimitSettings(max_calls=PLACES, adaptive=False)
        infos = [ReplicaInfo(f"replica-{index}", limits=limits) for index in range(REPLICAS)]
        self.scheduler = Scheduler(infos, ((policy, 1.0),), PATIENT, seed=seed)
        self.spent: dict[str, float] = defaultdict(float)
        """Seconds by kind of event."""
        self.told: dict[str, int] = defaultdict(int)
        self._rng = Random(seed)
        self._now = 0.0
        self._number = 0
        self._out: list[tuple[Job, int]] = []
        for _ in range(queued + REPLICAS * PLACES):
            self._arrive()

    def run(self, calls: int) -> None:
        """So many calls come, begin to be answered, and are answered."""
        for _ in range(calls):
            self._now += 0.01
            self._arrive()
            job, replica = self._out.pop(self._rng.randrange(len(self._out)))
            self._tell("first token", partial(self.scheduler.first_token, job.id, replica))
            self._now += 0.01
            self._tell("finished", partial(self.scheduler.finished, job.id, replica, self._rng.randrange(10, 500)))

    def forget(self) -> None:
        """Begin to measure."""
        self.spent.clear()
        self.told.clear()

    def _arrive(self) -> None:
        rng = self._rng
        self._number += 1
        job = Job(
            self._number,
            self._now,
            rng.randrange(20, 4000),
            1024,
            tier=rng.choice((0, 1, 1, 2)),
            tenant=f"tenant-{rng.randrange(TENANTS)}",
            deadline=self._now + 1e5 * rng.random() + 1e5,
        )
        self._tell("arrived", partial(self.scheduler.arrived, job))

    def _tell(self, kind: str, event: Callable[[float], list[Decision]]) -> None:
        before = time.thread_time()
        decisions = event(self._now)
        self.spent[kind] += time.thread_time() - before
        self.told[kind] += 1
        for decision in decisions:
            if isinstance(decision, Dispatch) and not decision.hedge:
                self._out.append((decision.job, decision.replica))


def measure(policy: str, calls: int, queued: int = QUEUED) -> float:
    """Print microseconds for each kind of event, and give back the mean of all."""
    collect_seldom()
    bench = Bench(policy, queued)
    bench.run(calls // 4)
    bench.forget()
    bench.run(calls)
    kinds = "  ".join(f"{kind} {bench.spent[kind] * 1e6 / bench.told[kind]:6.1f}" for kind in sorted(bench.told))
    mean = sum(bench.spent.values()) * 1e6 / sum(bench.told.values())
    print(f"{policy:14} {bench.scheduler.waiting:7,} waiting: {kinds}  mean {mean:6.1f} us")
    return mean
