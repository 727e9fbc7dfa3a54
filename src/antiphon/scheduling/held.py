"""What the scheduler holds of each call, and the calls that wait for one certain replica."""

from math import inf

from antiphon.scheduling.job import Job


class Held:
    """A call from its arrival to its end."""

    __slots__ = (
        "attempts",
        "awaits",
        "began",
        "charged",
        "final",
        "job",
        "not_before",
        "output",
        "released",
        "replicas",
        "tried",
        "wait_until",
    )

    def __init__(self, job: Job, output: float) -> None:
        self.job = job
        self.output = output
        """Answer tokens, by estimate."""
        self.charged = 0.0
        """Weighed tokens that its tenant was charged."""
        self.began = False
        """Its answer has begun."""
        self.replicas: list[int] = []
        """Where it is now."""
        self.final = False
        """Where it failed is where it ends: it is wrong in itself, or had begun to be answered."""
        self.attempts = 0
        """Times that it failed."""
        self.tried: list[int] = []
        """Where it failed, and should not go again."""
        self.not_before = 0.0
        """When it may be tried again."""
        self.wait_until = inf
        """When it has waited for as long as it may."""
        self.awaits = -1
        """The replica that it waits for; -1 for none."""
        self.released = False
        """It has waited for one replica for as long as that made sense."""


class Aside:
    """Calls that wait for one replica although others have room, for the sake of its cache. First come, first served."""

    __slots__ = ("_by_replica", "_count")

    def __init__(self) -> None:
        self._by_replica: dict[int, dict[int, Held]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def put(self, held: Held, replica: int) -> None:
        """Let it wait for that replica."""
        held.awaits = replica
        self._by_replica.setdefault(replica, {})[held.job.id] = held
        self._count += 1

    def remove(self, held: Held) -> None:
        """It waits for that replica no more."""
        there = self._by_replica[held.awaits]
        del there[held.job.id]
        if not there:
            del self._by_replica[held.awaits]
        held.awaits = -1
        self._count -= 1

    def replicas(self) -> list[int]:
        """Those that are waited for."""
        return list(self._by_replica)

    def first(self, replica: int) -> Held | None:
        """Who has waited longest for that replica."""
        there = self._by_replica.get(replica)
        return next(iter(there.values())) if there else None

    def everybody(self) -> list[Held]:
        """All of them."""
        return [held for there in self._by_replica.values() for held in there.values()]
