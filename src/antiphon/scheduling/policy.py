"""What a policy is, and what it is shown. One file in ``policies/`` is one policy."""

from collections.abc import Sequence
from random import Random
from typing import Literal, Protocol

import msgspec

from antiphon.scheduling.fleet import Fleet
from antiphon.scheduling.job import Job
from antiphon.scheduling.replica import Replica

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
