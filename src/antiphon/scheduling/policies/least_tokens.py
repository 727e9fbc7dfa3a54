"""The replica with the least work: uncached prompt tokens to prefill, and answers to decode."""

from collections.abc import Sequence
from random import Random

from antiphon.scheduling.job import Job
from antiphon.scheduling.policies._best import cheapest
from antiphon.scheduling.policy import Discipline, Policy, Situation
from antiphon.scheduling.replica import Replica


class _Policy(Policy):
    title = "least uncached prompt and answer tokens"
    queue: Discipline = "deadline"

    def score(self, job: Job, replicas: Sequence[Replica], situation: Situation, rng: Random) -> Sequence[float]:
        return cheapest([replica.work(situation.now) for replica in replicas])


plugin = _Policy()
