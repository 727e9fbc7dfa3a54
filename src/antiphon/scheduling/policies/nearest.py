"""The replica that is nearest: on this host, in this rack, in this region; of those equally near the one with the least to do.

Where all near ones are full, the next circle gets the call.
"""

from collections.abc import Sequence
from random import Random

from antiphon.scheduling.job import Job
from antiphon.scheduling.policies._best import cheapest
from antiphon.scheduling.policy import Discipline, Policy, Situation
from antiphon.scheduling.replica import Replica, distance

SHARE = 0.2
"""What the work there counts for between equally near ones."""


class _Policy(Policy):
    title = "the nearest by host, rack and region"
    queue: Discipline = "deadline"

    def nominate(self, job: Job, situation: Situation) -> Sequence[int]:
        near = situation.fleet.near(job, situation.home, 8)
        return [index for index in near if index in situation.fleet.open]

    def score(self, job: Job, replicas: Sequence[Replica], situation: Situation, rng: Random) -> Sequence[float]:
        scores = cheapest([replica.work(situation.now) for replica in replicas])
        return [
            (1 - SHARE) * (1 - distance(job, replica, situation.home) / 3) + SHARE * score
            for replica, score in zip(replicas, scores, strict=True)
        ]


plugin = _Policy()
