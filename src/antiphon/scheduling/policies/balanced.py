"""The replica where a call costs least: its own time, and the time that it takes from others.

Its own time is what is predicted from the work, the speed and the prefix cache of each replica. What it takes from others is the
prompt that must be computed again although somebody has it: that work keeps later calls waiting and drives other prefixes out of
the cache, so a second of it counts for several. Where nothing is cached and replicas are alike, the one that is free first is left.
"""

from collections.abc import Sequence
from random import Random
from typing import Final

from antiphon.scheduling.job import Job
from antiphon.scheduling.policies._best import UNKNOWN, cheapest
from antiphon.scheduling.policy import Discipline, Policy, Situation
from antiphon.scheduling.replica import Replica

RECOMPUTED: Final = 16.0
"""Seconds that one second of prefill counts for which another replica would have spared. Measured on a trace of conversations:
below 8 too many conversations wander, above 30 too many wait for one busy replica."""


class _Policy(Policy):
    title = "the earliest answer, with a price on prompts computed twice"
    queue: Discipline = "deadline"
    prefixes = True

    def nominate(self, job: Job, situation: Situation) -> Sequence[int]:
        return situation.fleet.holders(job.blocks)

    def score(self, job: Job, replicas: Sequence[Replica], situation: Situation, rng: Random) -> Sequence[float]:
        now, output, block_tokens = situation.now, situation.output, situation.block_tokens
        uncached: list[float] = []
        costs: list[float] = []
        for replica in replicas:
            left = replica.uncached(job, block_tokens)
            uncached.append(left)
            costs.append(replica.answer_in(left, output, now) + UNKNOWN * (replica.work(now) + left))
        if job.blocks:
            least, typical = min(uncached), situation.fleet.typical
            for place, replica in enumerate(replicas):
                costs[place] += replica.place_in(now) + RECOMPUTED * typical.first_token(uncached[place] - least)
        return cheapest(costs)


plugin = _Policy()
