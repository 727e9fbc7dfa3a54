"""The replica with the fewest calls, at once."""

from collections.abc import Sequence
from random import Random

from antiphon.scheduling.job import Job
from antiphon.scheduling.policies._best import cheapest
from antiphon.scheduling.policy import Discipline, Policy, Situation
from antiphon.scheduling.replica import Replica


class _Policy(Policy):
    title = "fewest calls, without a queue"
    queue: Discipline = "none"

    def score(self, job: Job, replicas: Sequence[Replica], situation: Situation, rng: Random) -> Sequence[float]:
        return cheapest([replica.load(situation.now) for replica in replicas])


plugin = _Policy()
