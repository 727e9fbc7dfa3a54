"""The replica that will have the answer first, as far as its speed, its work and its prefix cache let one tell."""

from collections.abc import Sequence
from random import Random

from antiphon.scheduling.job import Job
from antiphon.scheduling.policies._best import UNKNOWN, cheapest
from antiphon.scheduling.policy import Discipline, Policy, Situation
from antiphon.scheduling.replica import Replica


class _Policy(Policy):
    title = "the earliest answer, by what was learned of each"
    queue: Discipline = "deadline"
    prefixes = True

    def score(self, job: Job, replicas: Sequence[Replica], situation: Situation, rng: Random) -> Sequence[float]:
        now, output, block_tokens = situation.now, situation.output, situation.block_tokens
        return cheapest(
            [
                replica.answer_in(replica.uncached(job, block_tokens), output, now) + UNKNOWN * replica.work(now)
                for replica in replicas
            ]
        )


plugin = _Policy()
