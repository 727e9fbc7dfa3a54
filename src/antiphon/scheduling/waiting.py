"""The queue in front of a fleet.

Tiers come in order, but a lower tier that waits is owed its floor of all that is served meanwhile, and goes first once that
makes a call. Inside a tier real-time calls come before elastic ones; among the tenants of such a class the one that was served
least is next; and of its calls the earliest: by arrival where they are real-time, by deadline where they are elastic. A
deadline counts for at most ``patience`` seconds behind the arrival, so that loose ones age and nobody starves. Every operation
takes logarithmic time.
"""

from heapq import heapify, heappop, heappush
from typing import Final

from antiphon.scheduling.fairness import TokenCounters
from antiphon.scheduling.job import TIERS, Job

BUCKETS_PER_PATIENCE: Final = 32
GROUP: Final = 16
"""Buckets that are also counted together, so that few have to be added up."""


class Waiting:
    """A job in the queue."""

    __slots__ = ("cost", "job", "key", "number", "there")

    def __init__(self, job: Job, cost: float, key: float, number: int = 0) -> None:
        self.job = job
        self.number = number
        """Of those that wait: equals go in the order in which they came."""
        self.cost = cost
        """Weighed tokens, by estimate."""
        self.key = key
        self.there = True


class WaitingQueue:
    """Jobs that wait, in the order in which they should go."""

    def __init__(self, counters: TokenCounters, floors: tuple[float, ...] = (0.0, 0.0, 0.0), patience: float = 30.0) -> None:
        self._counters = counters
        self._floors = floors
        self._patience = patience
        self._lines = [(_Line(counters, patience), _Line(counters, patience)) for _ in range(TIERS)]
        self._there: dict[int, Waiting] = {}
        self._owed = [0.0] * TIERS
        """Weighed tokens that each tier should have been served while it waited."""
        self._number = 0

    def __len__(self) -> int:
        return len(self._there)

    @property
    def work(self) -> float:
        """Weighed tokens that wait."""
        return sum(line.work for lines in self._lines for line in lines)

    def push(self, job: Job, cost: float) -> None:
        """Let a job wait; ``cost`` are its weighed tokens."""
        key = job.arrived if job.realtime else min(job.deadline, job.first_token_due, job.arrived + self._patience)
        self._number += 1
        waiting = Waiting(job, cost, key, self._number)
        self._there[job.id] = waiting
        self._line(job).push(waiting)

    def head(self, now: float, without: str | None = None) -> Waiting | None:
        """Who goes next; of the tenant ``without`` nobody does."""
        if not self._there:
            return None
        del now
        starved = self._starved()
        for lines in (self._lines[starved], *self._lines) if starved is not None else self._lines:
            for line in lines:
                if line.count > (0 if without is None else line.number_of(without)):
                    return line.head(without)
        return None

    def served(self, tier: int, cost: float, now: float) -> None:
        """A call of that tier goes to a replica."""
        del now
        for low in range(1, TIERS):
            if self._floors[low]:
                self._owed[low] = self._owed[low] + self._floors[low] * cost if self._waits(low) else 0.0
        self._owed[tier] = max(0.0, self._owed[tier] - cost)

    def remove(self, job_id: int) -> Waiting | None:
        """It does not wait any more. None where it did not."""
        waiting = self._there.get(job_id)
        if waiting is not None:
            self._drop(waiting)
        return waiting

    def work_before(self, job: Job) -> float:
        """Weighed tokens that would go before this job if it came now."""
        before = sum(line.work for lines in self._lines[: job.tier] for line in lines)
        realtime, elastic = self._lines[job.tier]
        if job.realtime:
            return before + realtime.work_of(job.tenant)
        ahead = elastic.work_until(min(job.deadline, job.first_token_due, job.arrived + self._patience))
        return before + realtime.work + min(ahead, elastic.work_of(job.tenant))

    def everybody(self) -> list[Waiting]:
        """All that wait, in the order in which they came."""
        return list(self._there.values())

    def gives_way(self, job: Job) -> Waiting | None:
        """Who should leave a full queue so that this job can wait: the last of the lowest tier below its own, sheddable ones first.

        In its own tier an elastic call that may be shed gives way to a real-time one, and to one that may not be.
        """
        for tier in range(TIERS - 1, job.tier, -1):
            realtime, elastic = self._lines[tier][0], self._lines[tier][1]
            line = elastic if elastic.count else realtime
            if line.count:
                return line.last()
        elastic = self._lines[job.tier][1]
        if elastic.count and (job.realtime or not job.sheddable):
            last = elastic.last()
            return last if last.job.sheddable else None
        return None

    def touched(self, tenant: str) -> None:
        """The counter of a tenant fell."""
        if not self._there:
            return
        for lines in self._lines:
            for line in lines:
                line.touched(tenant)

    def _line(self, job: Job) -> "_Line":
        return self._lines[job.tier][0 if job.realtime else 1]

    def _drop(self, waiting: Waiting) -> None:
        del self._there[waiting.job.id]
        waiting.there = False
        self._line(waiting.job).dropped(waiting)

    def _starved(self) -> int | None:
        """The lowest tier that is owed a call."""
        for tier in range(TIERS - 1, 0, -1):
            count = self._waits(tier)
            if count and self._owed[tier] * count >= self._lines[tier][0].work + self._lines[tier][1].work > 0:
                return tier
        return None

    def _waits(self, tier: int) -> int:
        """Calls of that tier that wait."""
        realtime, elastic = self._lines[tier]
        return realtime.count + elastic.count


class ArrivalQueue:
    """The plain queue: who came first goes first, whoever it is."""

    def __init__(self) -> None:
        self._there: dict[int, Waiting] = {}
        self.work = 0.0
        """Weighed tokens that wait."""

    def __len__(self) -> int:
        return len(self._there)

    def push(self, job: Job, cost: float) -> None:
        """Let a job wait."""
        self._there[job.id] = Waiting(job, cost, job.arrived)
        self.work += cost

    def head(self, now: float, without: str | None = None) -> Waiting | None:
        """Who goes next."""
        del now, without
        return next(iter(self._there.values()), None)

    def served(self, tier: int, cost: float, now: float) -> None:
        """A call of that tier goes to a replica, which is nothing to this queue."""

    def remove(self, job_id: int) -> Waiting | None:
        """It does not wait any more. None where it did not."""
        waiting = self._there.pop(job_id, None)
        if waiting is not None:
            self.work = self.work - waiting.cost if self._there else 0.0
        return waiting

    def work_before(self, job: Job) -> float:
        """Weighed tokens that would go before this job if it came now."""
        del job
        return self.work

    def everybody(self) -> list[Waiting]:
        """All that wait, in the order in which they came."""
        return list(self._there.values())

    def gives_way(self, job: Job) -> Waiting | None:
        """Nobody: all are alike."""
        del job
        return None

    def touched(self, tenant: str) -> None:
        """The counter of a tenant fell, which is nothing to this queue."""


class _Line:
    """The waiting jobs of one class of one tier."""

    def __init__(self, counters: TokenCounters, patience: float) -> None:
        self.count = 0
        self.work = 0.0
        self._counters = counters
        self._width = patience / BUCKETS_PER_PATIENCE
        self._buckets: dict[int, float] = {}
        self._groups: dict[int, float] = {}
        """The same of so many buckets together."""
        self._tenants: list[tuple[float, str]] = []
        self._ranks: dict[str, float] = {}
        """By which counter each tenant stands in ``_tenants``; an entry with another one is out of date."""
        self._jobs: dict[str, list[tuple[float, int, Waiting]]] = {}
        self._last: list[tuple[bool, float, int, Waiting]] = []
        self._numbers: dict[str, int] = {}
        self._works: dict[str, float] = {}

    def push(self, waiting: Waiting) -> None:
        tenant = waiting.job.tenant
        jobs = self._jobs.get(tenant)
        if jobs is None:
            jobs = self._jobs[tenant] = []
            self._numbers[tenant] = 0
            self._works[tenant] = 0.0
            self._rank(tenant)
        heappush(jobs, (waiting.key, waiting.number, waiting))
        heappush(self._last, (not waiting.job.sheddable, -waiting.key, -waiting.number, waiting))
        self._numbers[tenant] += 1
        self._works[tenant] += waiting.cost
        self.count += 1
        self.work += waiting.cost
        bucket = int(waiting.key / self._width)
        self._buckets[bucket] = self._buckets.get(bucket, 0.0) + waiting.cost
        self._groups[bucket // GROUP] = self._groups.get(bucket // GROUP, 0.0) + waiting.cost

    def number_of(self, tenant: str) -> int:
        return self._numbers.get(tenant, 0)

    def head(self, without: str | None = None) -> Waiting:
        if without is None or without not in self._ranks:
            return self._first()
        rank = self._ranks.pop(without)
        head = self._first()
        self._ranks[without] = rank
        heappush(self._tenants, (rank, without))
        return head

    def _first(self) -> Waiting:
        tenants = self._tenants
        while True:
            counter, tenant = tenants[0]
            if self._ranks.get(tenant) != counter:
                heappop(tenants)
                continue
            if self._counters.of(tenant) != counter:
                heappop(tenants)
                self._rank(tenant)
                continue
            jobs = self._jobs[tenant]
            while not jobs[0][2].there:
                heappop(jobs)
            return jobs[0][2]

    def last(self) -> Waiting:
        """Who can wait for longest, among those that may be shed if there are any."""
        while not self._last[0][3].there:
            heappop(self._last)
        return self._last[0][3]

    def dropped(self, waiting: Waiting) -> None:
        if len(self._last) > 64 + 4 * self.count:
            self._last = [entry for entry in self._last if entry[3].there]
            heapify(self._last)
        tenant = waiting.job.tenant
        self.count -= 1
        self.work = self.work - waiting.cost if self.count else 0.0
        bucket = int(waiting.key / self._width)
        left = self._buckets[bucket] - waiting.cost
        if left > 1e-6:
            self._buckets[bucket] = left
        else:
            del self._buckets[bucket]
        group = bucket // GROUP
        left = self._groups[group] - waiting.cost
        if left > 1e-6:
            self._groups[group] = left
        else:
            del self._groups[group]
        self._numbers[tenant] -= 1
        self._works[tenant] -= waiting.cost
        if not self._numbers[tenant]:
            del self._jobs[tenant], self._numbers[tenant], self._works[tenant], self._ranks[tenant]

    def work_of(self, tenant: str) -> float:
        """Weighed tokens that go before those of one tenant who comes now, because tenants take turns."""
        share = self._works.get(tenant, 0.0)
        tenants = len(self._works) + (tenant not in self._works)
        if tenants == 1:
            return self.work
        behind = max(0.0, self._counters.of(tenant) - self._counters.now)
        return min(self.work, (share + behind) * tenants)

    def work_until(self, key: float) -> float:
        last = int(key / self._width)
        group = last // GROUP
        until = 0.0
        for before, work in self._groups.items():
            if before < group:
                until += work
        for bucket in range(group * GROUP, last):
            until += self._buckets.get(bucket, 0.0)
        return until

    def touched(self, tenant: str) -> None:
        rank = self._ranks.get(tenant)
        if rank is not None and self._counters.of(tenant) < rank:
            self._rank(tenant)

    def _rank(self, tenant: str) -> None:
        counter = self._counters.of(tenant)
        self._ranks[tenant] = counter
        heappush(self._tenants, (counter, tenant))
