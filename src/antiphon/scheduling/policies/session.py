"""Calls of one session at one replica, where their conversation is in the cache; those of no session where the least is to do.

A session's home is the next replica on a ring of hashes, and where that one may not be asked, the next: the same for all gateways,
without anything to remember. (Rendezvous hashing would give the same, but asks every replica for every call.)
"""

from collections.abc import Sequence
from random import Random

from antiphon.scheduling.job import Job
from antiphon.scheduling.policies._best import cheapest
from antiphon.scheduling.policy import Discipline, Policy, Situation
from antiphon.scheduling.replica import Replica

WAITS = 1.0
"""Seconds that a call waits for a place at its session's home."""


class _Policy(Policy):
    title = "each session at its own replica"
    queue: Discipline = "deadline"
    prefixes = True

    def nominate(self, job: Job, situation: Situation) -> Sequence[int]:
        return situation.fleet.ring.owners(job.session, 3) if job.session else ()

    def score(self, job: Job, replicas: Sequence[Replica], situation: Situation, rng: Random) -> Sequence[float]:
        now = situation.now
        scores = cheapest([replica.work(now) for replica in replicas])
        if not job.session:
            return scores
        homes = situation.fleet.ring.owners(job.session, 3)
        return [
            1.0 - 0.1 * homes.index(replica.index) if replica.index in homes and replica.place_in(now) < WAITS else 0.5 * score
            for replica, score in zip(replicas, scores, strict=True)
        ]


plugin = _Policy()
