"""Which replica gets a call: some that may are looked at, policies score them, and the best is picked."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Final

from antiphon.core.plugins import PluginGroup
from antiphon.scheduling.fleet import Members
from antiphon.scheduling.job import NO_REASONS, Job, Reasons
from antiphon.scheduling.policy import Discipline, Policy, Situation
from antiphon.scheduling.replica import Replica

SAMPLE: Final = 8
"""Replicas that are looked at for one call besides those that a policy names: its cost does not grow with the fleet."""
NOMINEES: Final = 4
"""Replicas that one policy may name for one call."""


class Conduct:
    """How a policy behaves: what it cost, and what it did wrong."""

    __slots__ = ("calls", "faults", "spent")

    def __init__(self) -> None:
        self.calls = 0
        self.spent = 0.0
        """In the unit of the stopwatch; 0 without one."""
        self.faults = 0
        """Times that it raised, or gave too few or too many scores. It then had no say."""


POLICIES: Final = PluginGroup("antiphon.policies", "antiphon.scheduling.policies")


def named(name: str) -> Policy:
    """The policy of that name. Raises ConfigError naming the known ones where there is none."""
    policy: Policy = POLICIES.load(name.replace("-", "_"))
    return policy


def _names_some(policy: Policy) -> bool:
    return getattr(type(policy), "nominate", Policy.nominate) is not Policy.nominate


def _stands_still() -> float:
    return 0.0


class Choice:
    """Weighs policies and picks a replica.

    ``stopwatch`` is any rising count, such as ``time.perf_counter``: it times the policies and decides nothing, so that decisions
    can be replayed whatever it shows.
    """

    def __init__(self, weights: Sequence[tuple[str, float]], rng: Random, stopwatch: Callable[[], float] | None = None) -> None:
        total = sum(weight for _, weight in weights)
        self._policies = [(name, named(name), weight / total) for name, weight in weights]
        self._nominators = [(name, policy) for name, policy, _ in self._policies if _names_some(policy)]
        self._rng = rng
        self._stopwatch = stopwatch or _stands_still
        self.conduct = {name: Conduct() for name, _ in weights}

    @property
    def queue(self) -> Discipline:
        """How calls wait: as the policy with the greatest weight wants it."""
        return max(self._policies, key=lambda entry: entry[2])[1].queue

    def candidates(self, job: Job, members: Members, situation: Situation) -> list[Replica]:
        """The replicas that are looked at: some of the members, and those that a policy names and that may be asked."""
        fleet = situation.fleet
        found = members.some(SAMPLE, self._rng.random() if len(members) > SAMPLE else 0.0)
        for name, policy in self._nominators:
            conduct = self.conduct[name]
            began = self._stopwatch()
            try:
                for index in policy.nominate(job, situation)[:NOMINEES]:
                    if index not in found and index in fleet.usable:
                        found.append(int(index))
            except Exception:
                conduct.faults += 1
            conduct.spent += self._stopwatch() - began
        candidates = [fleet.replicas[index] for index in found]
        for replica in candidates:
            if not replica.out:
                replica.doubt_after_silence(situation.now)
        return candidates

    def pick(self, job: Job, replicas: Sequence[Replica], situation: Situation) -> tuple[Replica, Reasons]:
        """The best of at least one replica, and why. Equals are taken in a random order.

        Whoever failed calls lately is worth less by their share, whatever the policy: errors are fast and draw nobody.
        """
        if len(replicas) == 1:
            return replicas[0], NO_REASONS
        now = situation.now
        told = [(name, self._scores(name, policy, job, replicas, situation)) for name, policy, _ in self._policies]
        totals = list(told[0][1]) if len(told) == 1 else self._weighed([scores for _, scores in told])
        for place, replica in enumerate(replicas):
            failed = replica.failures(now)
            if failed:
                totals[place] *= 1 - failed
        least = max(totals) - 1e-12
        places = [place for place, total in enumerate(totals) if total >= least]
        place = places[0] if len(places) == 1 else places[int(self._rng.random() * len(places))]
        return replicas[place], Reasons(
            tuple([(name, scores[place]) for name, scores in told]),
            tuple([replica.index for replica in replicas]),
            tuple(totals),
        )

    def _weighed(self, told: Sequence[Sequence[float]]) -> list[float]:
        """What all policies together give each replica."""
        weights = [weight for _, _, weight in self._policies]
        return [sum([weight * score for weight, score in zip(weights, scores, strict=True)]) for scores in zip(*told, strict=True)]

    def _scores(self, name: str, policy: Policy, job: Job, replicas: Sequence[Replica], situation: Situation) -> list[float]:
        conduct = self.conduct[name]
        conduct.calls += 1
        scores: list[float] = []
        began = self._stopwatch()
        try:
            scores = list(policy.score(job, replicas, situation, self._rng))
            for score in scores:
                if not 0.0 <= score <= 1.0:
                    scores = [min(1.0, each) if each > 0.0 else 0.0 for each in scores]
                    break
        except Exception:
            scores = []
        conduct.spent += self._stopwatch() - began
        if len(scores) != len(replicas):
            conduct.faults += 1
            return [0.0] * len(replicas)
        return scores
