"""Which replica gets a call: those that may are sampled, policies score them, and the best or a lucky one is picked."""

from collections.abc import Sequence
from random import Random
from typing import Literal, Protocol

import msgspec

from antiphon.core.plugins import PluginGroup
from antiphon.scheduling.fleet import Replica
from antiphon.scheduling.job import Job

SAMPLE = 16
"""Replicas that are looked at for one call: its cost does not grow with the fleet."""

Discipline = Literal["deadline", "fifo", "none"]


class Situation(msgspec.Struct, frozen=True, gc=False):
    """What a policy may know besides the job and the replicas."""

    now: float
    block_tokens: int
    output: float
    """Answer tokens of the job, by estimate."""
    target: float
    """Seconds in which its first token is wanted, from now; infinite where nobody said."""
    home: tuple[str, str, str] = ("", "", "")
    """Our own host, rack and region."""


class Policy(Protocol):
    """One way to choose among replicas. It must neither block nor keep anything of a call."""

    title: str
    """What it does, in a few words."""
    queue: Discipline
    """How calls wait where this policy weighs most: ``deadline`` (tiers, tenants, deadlines), ``fifo``, or ``none``: each goes out
    at once and waits at its replica."""

    def score(self, job: Job, replicas: Sequence[Replica], situation: Situation, rng: Random) -> Sequence[float]:
        """How good each replica is for the job: 0 to 1, more is better. What is outside is cut off."""


POLICIES = PluginGroup("antiphon.policies", "antiphon.scheduling.policies")


def named(name: str) -> Policy:
    """The policy of that name. Raises ConfigError naming the known ones where there is none."""
    policy: Policy = POLICIES.load(name.replace("-", "_"))
    return policy


class Choice:
    """Weighs policies and picks a replica."""

    def __init__(self, weights: Sequence[tuple[str, float]], rng: Random) -> None:
        total = sum(weight for _, weight in weights)
        self._policies = [(name, named(name), weight / total) for name, weight in weights]
        self._rng = rng

    @property
    def queue(self) -> Discipline:
        """How calls wait: as the policy with the greatest weight wants it."""
        return max(self._policies, key=lambda entry: entry[2])[1].queue

    def sample(self, replicas: Sequence[Replica]) -> Sequence[Replica]:
        """The replicas that are looked at."""
        return replicas if len(replicas) <= SAMPLE else self._rng.sample(replicas, SAMPLE)

    def pick(self, job: Job, replicas: Sequence[Replica], situation: Situation) -> tuple[Replica, tuple[tuple[str, float], ...]]:
        """The best of at least one replica, and what each policy gave it. Equals are taken in a random order."""
        if len(replicas) == 1:
            return replicas[0], ()
        totals = [0.0] * len(replicas)
        told: list[tuple[str, Sequence[float]]] = []
        for name, policy, weight in self._policies:
            scores = [min(1.0, max(0.0, score)) for score in policy.score(job, replicas, situation, self._rng)]
            told.append((name, scores))
            totals = [total + weight * score for total, score in zip(totals, scores, strict=True)]
        best = max(totals)
        places = [place for place, total in enumerate(totals) if total >= best - 1e-12]
        place = places[0] if len(places) == 1 else self._rng.choice(places)
        return replicas[place], tuple((name, round(scores[place], 4)) for name, scores in told)
