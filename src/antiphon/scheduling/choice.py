"""Which replica gets a call: some that may are looked at, policies score them, and the best is picked."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Literal, Protocol

import msgspec

from antiphon.core.plugins import PluginGroup
from antiphon.scheduling.fleet import Fleet, Members
from antiphon.scheduling.job import NO_REASONS, Job, Reasons
from antiphon.scheduling.replica import Replica

SAMPLE = 8
"""Replicas that are looked at for one call besides those that a policy names: its cost does not grow with the fleet."""
NOMINEES = 4
"""Replicas that one policy may name for one call."""

Discipline = Literal["deadline", "fifo", "none"]


class Situation(msgspec.Struct, frozen=True, gc=False):
    """What a policy may know besides the job and the replicas."""

    now: float
    fleet: Fleet
    block_tokens: int
    output: float
    """Answer tokens of the job, by estimate."""
    target: float
    """Seconds in which its first token is wanted, from now; infinite where nobody said."""
    home: tuple[str, str, str] = ("", "", "")
    """Our own host, rack and region."""


class Policy(Protocol):
    """One way to choose among replicas. It neither blocks nor changes what it is shown, and draws chance from ``rng`` only."""

    title: str
    """What it does, in a few words."""
    queue: Discipline
    """How calls wait where this policy has the most weight: ``deadline`` (tiers, tenants, deadlines), ``fifo``, or ``none``, where
    each goes out at once and waits at its replica."""
    prefixes: bool = False
    """It looks at ``Job.blocks``, which cost something to find: they are left out where no policy does."""

    def nominate(self, job: Job, situation: Situation) -> Sequence[int]:
        """Numbers of replicas that must be looked at, also in a fleet of which only a sample is: the first four count."""
        return ()

    def score(self, job: Job, replicas: Sequence[Replica], situation: Situation, rng: Random) -> Sequence[float]:
        """How good each replica is for the job: 0 to 1, more is better. What is outside is cut off, and no number is 0."""
        raise NotImplementedError


class Conduct:
    """How a policy behaves: what it cost, and what it did wrong."""

    __slots__ = ("calls", "faults", "spent")

    def __init__(self) -> None:
        self.calls = 0
        self.spent = 0.0
        """In the unit of the stopwatch; 0 without one."""
        self.faults = 0
        """Times that it raised, or gave too few or too many scores. It then had no say."""


POLICIES = PluginGroup("antiphon.policies", "antiphon.scheduling.policies")


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
        totals = [0.0] * len(replicas)
        told: list[tuple[str, Sequence[float]]] = []
        for name, policy, weight in self._policies:
            scores = self._scores(name, policy, job, replicas, situation)
            told.append((name, scores))
            totals = [total + weight * score for total, score in zip(totals, scores, strict=True)]
        totals = [total * (1 - replica.failures(situation.now)) for total, replica in zip(totals, replicas, strict=True)]
        best = max(totals)
        places = [place for place, total in enumerate(totals) if total >= best - 1e-12]
        place = places[0] if len(places) == 1 else places[int(self._rng.random() * len(places))]
        return replicas[place], Reasons(
            tuple([(name, round(scores[place], 4)) for name, scores in told]),
            tuple([(replica.index, total) for replica, total in zip(replicas, totals, strict=True)]),
        )

    def _scores(self, name: str, policy: Policy, job: Job, replicas: Sequence[Replica], situation: Situation) -> Sequence[float]:
        conduct = self.conduct[name]
        conduct.calls += 1
        began = self._stopwatch()
        try:
            given = policy.score(job, replicas, situation, self._rng)
            scores = [min(1.0, max(0.0, score)) for score in given]
        except Exception:
            scores = []
        conduct.spent += self._stopwatch() - began
        if len(scores) != len(replicas):
            conduct.faults += 1
            return [0.0] * len(replicas)
        return scores
