"""One queue in order of arrival, and the replica with the fewest calls."""

from collections.abc import Sequence
from random import Random

from antiphon.scheduling.job import Job
from antiphon.scheduling.policies._best import cheapest
from antiphon.scheduling.policy import Discipline, Policy, Situation
from antiphon.scheduling.replica import Replica


class _Policy(Policy):
    title = "one queue in order of arrival; fewest calls"
    queue: Discipline = "fifo"

    def score(self, job: Job, replicas: Sequence[Replica], situation: Situation, rng: Random) -> Sequence[float]:
        return cheapest([replica.load(situation.now) for replica in replicas])


plugin = _Policy()
