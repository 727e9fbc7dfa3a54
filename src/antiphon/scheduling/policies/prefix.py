"""The replica that has most of the prompt in its cache, as long as that one will be in time.

Each replica is judged by its own predicted time to the first token. Whoever keeps to the target is ranked by the part of the prompt
that it holds; whoever does not is ranked behind them by that time. So a replica that is too busy is passed over for this one call,
while it keeps all others that belong to it, and what another one does changes nothing.
"""

from collections.abc import Sequence
from random import Random
from typing import Final

from antiphon.scheduling.job import Job
from antiphon.scheduling.policies._best import UNKNOWN, cheapest
from antiphon.scheduling.policy import Discipline, Policy, Situation
from antiphon.scheduling.replica import Replica

TARGET_TIMES: Final = 4.0
TARGET_FROM: Final = 0.5
"""Where nobody said when the first token is due: so many times as long as the prompt alone would take, and so many seconds more."""


class _Policy(Policy):
    title = "where most of the prompt is cached, while that is in time"
    queue: Discipline = "deadline"
    prefixes = True

    def nominate(self, job: Job, situation: Situation) -> Sequence[int]:
        return situation.fleet.holders(job.blocks)

    def score(self, job: Job, replicas: Sequence[Replica], situation: Situation, rng: Random) -> Sequence[float]:
        now, tokens = situation.now, max(1, job.prompt_tokens)
        uncached = [replica.uncached(job, situation.block_tokens) for replica in replicas]
        waits = [
            replica.place_in(now) + replica.first_token_in(left, now) + UNKNOWN * replica.work(now)
            for replica, left in zip(replicas, uncached, strict=True)
        ]
        usual = TARGET_FROM + TARGET_TIMES * situation.fleet.typical.first_token(tokens)
        target = min(situation.target, usual)
        sooner = cheapest(waits)
        return [
            0.5 + 0.45 * (1 - left / tokens) + 0.05 * soon if wait <= target else 0.5 * soon
            for left, wait, soon in zip(uncached, waits, sooner, strict=True)
        ]


plugin = _Policy()
