"""Each replica in turn, by weight."""

from collections.abc import Sequence
from random import Random

from antiphon.scheduling.job import Job
from antiphon.scheduling.policies._best import cheapest
from antiphon.scheduling.policy import Discipline, Policy, Situation
from antiphon.scheduling.replica import Replica


class _Policy(Policy):
    title = "in turn, by weight, without a queue"
    queue: Discipline = "none"

    def score(self, job: Job, replicas: Sequence[Replica], situation: Situation, rng: Random) -> Sequence[float]:
        return cheapest([replica.served for replica in replicas])


plugin = _Policy()
