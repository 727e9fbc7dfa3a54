"""The replica that a key belongs to, and where that one has more than its part, the next.

The key is the session, else the beginning of the prompt, else the tenant. Of a prompt the second block counts, because the first is
often everybody's. Loads are bounded: nobody gets more than a quarter above
the mean (Mirrokni, Thorup and Zadimoghaddam, Consistent Hashing with Bounded Loads, SODA 2018).
"""

from collections.abc import Sequence
from random import Random

from antiphon.scheduling.job import Job
from antiphon.scheduling.policies._best import cheapest
from antiphon.scheduling.policy import Discipline, Policy, Situation
from antiphon.scheduling.replica import Replica

BOUND = 1.25
"""Times the mean number of calls that a replica may have."""


def _key(job: Job) -> str:
    return job.session or (f"block {job.blocks[:2][-1]}" if job.blocks else f"tenant {job.tenant}")


class _Policy(Policy):
    title = "by hash of the session, the prompt's beginning or the tenant, with bounded loads"
    queue: Discipline = "deadline"
    prefixes = True

    def nominate(self, job: Job, situation: Situation) -> Sequence[int]:
        return situation.fleet.ring.owners(_key(job), 4)

    def score(self, job: Job, replicas: Sequence[Replica], situation: Situation, rng: Random) -> Sequence[float]:
        fleet, now = situation.fleet, situation.now
        homes = fleet.ring.owners(_key(job), 4)
        most = BOUND * (fleet.calls + 1) / len(fleet)
        scores = cheapest([replica.load(now) for replica in replicas])
        return [
            1.0 - 0.1 * homes.index(replica.index)
            if replica.index in homes and replica.load(now) < most and not replica.place_in(now)
            else 0.5 * score
            for replica, score in zip(replicas, scores, strict=True)
        ]


plugin = _Policy()
