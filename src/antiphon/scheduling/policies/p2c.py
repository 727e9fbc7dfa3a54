"""Two replicas by chance, and of these the one that is quicker and has less to do.

The power of two choices (Mitzenmacher, 2001), with the peak EWMA of latency of Twitter's Finagle as its measure: a peak counts
at once and fades slowly, and errors and refusals are booked as slow calls.
"""

from collections.abc import Sequence
from random import Random

from antiphon.scheduling.job import Job
from antiphon.scheduling.policies._best import cheapest
from antiphon.scheduling.policy import Discipline, Policy, Situation
from antiphon.scheduling.replica import Replica

UNKNOWN = 0.001
"""Seconds that a replica without any call is taken to need, so that it is tried."""


class _Policy(Policy):
    title = "two by chance, and the quicker one with less to do"
    queue: Discipline = "deadline"

    def score(self, job: Job, replicas: Sequence[Replica], situation: Situation, rng: Random) -> Sequence[float]:
        count = len(replicas)
        if count == 1:
            return [1.0]
        first = int(rng.random() * count)
        second = (first + 1 + int(rng.random() * (count - 1))) % count
        now = situation.now
        scores = [0.0] * count
        costs = [max(UNKNOWN, replicas[place].latency(now)) * (1 + replicas[place].load(now)) for place in (first, second)]
        scores[first], scores[second] = cheapest(costs)
        return scores


plugin = _Policy()
