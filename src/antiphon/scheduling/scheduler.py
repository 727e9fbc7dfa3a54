"""The scheduler of one deployment: events come in, decisions come out. It knows no clock, no socket and no thread."""

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from math import inf
from random import Random

from antiphon.core.breaker import BreakerView
from antiphon.scheduling.choice import Choice, Discipline, Situation
from antiphon.scheduling.fairness import TokenCounters, cost
from antiphon.scheduling.fleet import Fleet, Out, Replica, ReplicaInfo, Reported
from antiphon.scheduling.health import Health
from antiphon.scheduling.hedging import Waits
from antiphon.scheduling.job import Decision, Dispatch, Job, Refuse, Withdraw
from antiphon.scheduling.lengths import Lengths
from antiphon.scheduling.retries import Budget
from antiphon.scheduling.settings import SchedulerSettings
from antiphon.scheduling.speed import Drain
from antiphon.scheduling.waiting import ArrivalQueue, WaitingQueue

AGAIN_AT_ONCE = 16
"""Calls to be tried again that are looked at before the queue is."""


class _Entry:
    """What the scheduler holds of a job from its arrival to its end."""

    __slots__ = ("awaits", "began", "charged", "job", "output", "released", "replicas", "tried", "wait_until")

    def __init__(self, job: Job, output: float) -> None:
        self.job = job
        self.output = output
        self.charged = 0.0
        self.began = False
        self.wait_until = inf
        self.awaits = -1
        """The replica that it waits for; -1 for none."""
        self.released = False
        """It has waited for one replica for as long as that made sense."""
        self.replicas: list[int] = []
        """Where it is now."""
        self.tried: list[int] = []
        """Where it has failed."""


class Scheduler:
    """Decides for one deployment. Every method takes the time, in seconds of one monotonic clock, and gives back what to do now.

    Events that come late, twice, or of calls that it does not know change nothing.
    """

    def __init__(
        self,
        replicas: Sequence[ReplicaInfo],
        policy: Sequence[tuple[str, float]],
        settings: SchedulerSettings,
        *,
        seed: int = 0,
        now: float = 0.0,
        home: tuple[str, str, str] = ("", "", ""),
        stopwatch: Callable[[], float] | None = None,
    ) -> None:
        self._settings = settings
        self._home = home
        self._rng = Random(seed)  # noqa: S311 - a decision can be replayed, and guards nothing
        self._stopwatch = stopwatch
        self.fleet = Fleet(settings.breaker, backlog=settings.queue.backlog, panic=settings.panic)
        self._health = Health(self.fleet, settings.health)
        self.tenants = TokenCounters()
        self._policy = tuple(policy)
        self.choice = self._chosen_by(policy)
        self._discipline: Discipline = self.choice.queue
        self._queue = self._new_queue()
        self._again: dict[int, _Entry] = {}
        """Calls that failed somewhere and wait for another replica, before all others."""
        self._aside: dict[int, dict[int, _Entry]] = {}
        """By replica, the calls that wait for it."""
        self._asides = 0
        self._lengths = Lengths()
        self._drain = Drain()
        self._entries: dict[int, _Entry] = {}
        self._retries = Budget(settings.retries.budget, settings.retries.reserve)
        self._hedges = Budget(settings.retries.hedge_budget, 0.0)
        self._waits = Waits(settings.retries.hedge_quantile)
        self._alarms: list[tuple[float, int, str]] = []
        self.fleet.set(replicas, now, fresh=False)

    # -- what is known

    @property
    def waiting(self) -> int:
        """Jobs that wait for a replica."""
        return len(self._queue) + len(self._again) + self._asides

    @property
    def running(self) -> int:
        """Jobs that are at a replica."""
        return len(self._entries) - self.waiting

    def expected_wait(self, job: Job) -> float:
        """Seconds that the job would wait if it came now."""
        return self._drain.seconds(self._queue.work_before(job))

    def next_alarm(self) -> float:
        """When ``tick`` has something to do at the latest; infinite where nothing is due."""
        while self._alarms and self._alarms[0][1] not in self._entries:
            heappop(self._alarms)
        return min(self._alarms[0][0] if self._alarms else inf, self.fleet.next_recovery())

    # -- events

    def arrived(self, job: Job, now: float) -> list[Decision]:
        """A call came."""
        decisions: list[Decision] = []
        if job.id in self._entries:
            return decisions
        self._retries.earn()
        self._hedges.earn()
        entry = _Entry(job, self._expected_output(job, now))
        refusal = self._refusal_at_entry(entry, now, decisions)
        if refusal:
            decisions.append(Refuse(job, refusal, self._retry_after(job, now)))
            return decisions
        self._entries[job.id] = entry
        self.tenants.came(job.tenant)
        if self._discipline == "none":
            self._send_anywhere(entry, now, decisions)
        else:
            self._enqueue(entry)
            self._pump(now, decisions)
        return decisions

    def first_token(self, job_id: int, replica: int, now: float, *, cached_tokens: int = -1) -> list[Decision]:
        """A replica has begun to answer; of the prompt it had ``cached_tokens`` in its cache, where it says so.

        Others that were asked are told to stop.
        """
        decisions: list[Decision] = []
        entry = self._entries.get(job_id)
        if entry is None or replica not in entry.replicas:
            return decisions
        where = self.fleet.replicas[replica]
        out = where.out[job_id]
        if out.first_at:
            return decisions
        self._health.first_token(where, out, now)
        where.first_token(out, now)
        if cached_tokens >= 0:
            where.prefixes.lacks(entry.job.blocks, cached_tokens // self._settings.block_tokens)
        self._waits.saw(out.uncached, now - out.sent)
        entry.began = True
        for other in [index for index in entry.replicas if index != replica]:
            self._withdraw(entry, other, now, decisions)
        self.fleet.refresh(where, now)
        self._pump(now, decisions)
        return decisions

    def finished(self, job_id: int, replica: int, output_tokens: int, now: float) -> list[Decision]:
        """An answer is whole."""
        decisions: list[Decision] = []
        entry = self._entries.get(job_id)
        if entry is None or replica not in entry.replicas:
            return decisions
        where = self.fleet.replicas[replica]
        out = where.out[job_id]
        if not out.first_at:
            decisions += self.first_token(job_id, replica, now)
        where.finished(out, output_tokens, now)
        self._health.finished(where, out, output_tokens, now)
        self.fleet.refresh(where, now)
        self._lengths.learn(entry.job.tenant, output_tokens)
        self._correct(entry, cost(out.uncached, output_tokens))
        self._over(entry)
        self._pump(now, decisions)
        return decisions

    def failed(
        self,
        job_id: int,
        replica: int,
        now: float,
        *,
        retryable: bool = True,
        blame: bool = True,
        unreachable: bool = False,
        retry_after: float = 0.0,
    ) -> list[Decision]:
        """A replica has failed a call.

        ``blame``: that speaks against it; ``unreachable``: no connection came about; ``retry_after``: seconds that it wants to rest.
        The call goes to another replica where it may; else it is refused with reason ``failed``, and its caller hears what the
        replica said.
        """
        decisions: list[Decision] = []
        entry = self._entries.get(job_id)
        if entry is None or replica not in entry.replicas:
            return decisions
        where = self.fleet.replicas[replica]
        out = where.out[job_id]
        if blame:
            where.failed(out, now)
            self._health.failed(where, out, now, unreachable=unreachable)
        else:
            where.gone(out)
            self._health.says_nothing(where, out, now)
        if retry_after > 0:
            where.felt(retry_after, now)
            self._health.cools(where, retry_after, now)
        self.fleet.refresh(where, now)
        entry.replicas.remove(replica)
        entry.tried.append(replica)
        if not entry.replicas:
            self._try_again(entry, retryable and not entry.began, now, decisions)
        self._pump(now, decisions)
        return decisions

    def gone(self, job_id: int, now: float) -> list[Decision]:
        """The caller has left."""
        decisions: list[Decision] = []
        entry = self._entries.get(job_id)
        if entry is None:
            return decisions
        self._queue.remove(job_id)
        for replica in list(entry.replicas):
            self._withdraw(entry, replica, now, decisions)
        if not entry.began and entry.charged:
            self._correct(entry, 0.0)
        self._over(entry)
        self._pump(now, decisions)
        return decisions

    def metrics(self, replica: int, reported: Reported, now: float) -> list[Decision]:
        """A replica told its load."""
        decisions: list[Decision] = []
        where = self.fleet.replicas[replica]
        where.told(reported, now)
        self.fleet.refresh(where, now)
        self._pump(now, decisions)
        return decisions

    def health(self, replica: int, view: BreakerView, now: float) -> list[Decision]:
        """Somebody else, who sees other calls of the same replica, knows how its breaker stands."""
        decisions: list[Decision] = []
        where = self.fleet.replicas[replica]
        where.breaker.restore(view)
        if view.state == "open":
            self.fleet.recovers(where, view.until)
        self.fleet.refresh(where, now)
        self._pump(now, decisions)
        return decisions

    def tick(self, now: float) -> list[Decision]:
        """Time has passed: waits that are over, hedges that are due, replicas that are late or well again."""
        decisions: list[Decision] = []
        self.fleet.recover(now)
        while self._alarms and self._alarms[0][0] <= now:
            _, job_id, what = heappop(self._alarms)
            entry = self._entries.get(job_id)
            if entry is None:
                continue
            if what == "wait":
                self._end_wait(entry, now, decisions)
            elif what == "release":
                if entry.awaits >= 0:
                    entry.released = True
                    self._back(entry)
                    self._queue.push(entry.job, cost(entry.job.prompt_tokens, entry.output))
            elif what == "hedge":
                self._hedge(entry, now, decisions)
            else:
                self._find_late(entry, now)
        self._pump(now, decisions)
        return decisions

    def reconfigure(
        self, replicas: Sequence[ReplicaInfo], policy: Sequence[tuple[str, float]], settings: SchedulerSettings, now: float
    ) -> list[Decision]:
        """Take other replicas, told apart by name, another policy and other settings. Calls under way go on, also where a replica leaves."""
        decisions: list[Decision] = []
        fleet, retries = self.fleet, settings.retries
        fleet.breaker, fleet.backlog, fleet.panic_below = settings.breaker, settings.queue.backlog, settings.panic
        fleet.set(replicas, now, fresh=True)
        self._health.settings = settings.health
        self._retries.change(retries.budget, retries.reserve)
        self._hedges.change(retries.hedge_budget, 0.0)
        self._waits.quantile = retries.hedge_quantile
        requeue = settings.queue != self._settings.queue or tuple(policy) != self._policy
        self._settings = settings
        if tuple(policy) != self._policy:
            self._policy = tuple(policy)
            self.choice = self._chosen_by(policy)
            self._discipline = self.choice.queue
        if requeue:
            self._requeue(now, decisions)
        self._pump(now, decisions)
        return decisions

    # -- the queue

    def _chosen_by(self, policy: Sequence[tuple[str, float]]) -> Choice:
        return Choice(policy, self._rng) if self._stopwatch is None else Choice(policy, self._rng, self._stopwatch)

    def _new_queue(self) -> WaitingQueue | ArrivalQueue:
        queue = self._settings.queue
        return ArrivalQueue() if self._discipline == "fifo" else WaitingQueue(self.tenants, queue.floors, queue.patience)

    def _requeue(self, now: float, decisions: list[Decision]) -> None:
        """Whoever waits now waits by the new rules."""
        before, self._queue = self._queue, self._new_queue()
        for waiting in before.everybody():
            entry = self._entries[waiting.job.id]
            if self._discipline == "none":
                self._send_anywhere(entry, now, decisions)
            else:
                self._enqueue(entry)

    def _expected_output(self, job: Job, now: float) -> float:
        """Answer tokens: like those before, and no more than would be in time at an idle replica."""
        bound = float(job.max_tokens)
        typical = self.fleet.typical
        if job.deadline < inf and typical.known:
            pace = typical.per_token(1.0)
            left = job.deadline - now - typical.first_token(job.prompt_tokens)
            if pace > 0:
                bound = min(bound, max(1.0, left / pace))
        return self._lengths.expected(job.tenant, bound)

    def _refusal_at_entry(self, entry: _Entry, now: float, decisions: list[Decision]) -> str:
        """Why the job is refused before it waits; empty where it may."""
        job, settings = entry.job, self._settings.queue
        if not self.fleet.usable and (self._discipline == "none" or self.fleet.next_recovery() - now > settings.cooling_wait):
            return "no_replica"
        if self._discipline == "deadline" and self._queue:
            wait = self.expected_wait(job)
            if now + wait + self._quickest(entry) > job.deadline or now + wait > job.first_token_due:
                return "late"
            if wait > settings.max_wait[job.tier]:
                return "waited"
            if job.sheddable and job.tier and self._sheds(entry, wait / settings.max_wait[job.tier]):
                return "shed"
        if self._discipline == "none" or len(self._queue) < max(1, settings.max_waiting):
            return ""
        return "" if self._make_room(job, now, decisions) else "queue_full"

    def _make_room(self, job: Job, now: float, decisions: list[Decision]) -> bool:
        """A place in a full queue, taken from whoever should give way first. Nothing that a replica has begun is ever taken back."""
        waiting = self._queue.gives_way(job)
        if waiting is None:
            return False
        self._queue.remove(waiting.job.id)
        self._refuse(self._entries[waiting.job.id], "queue_full", now, decisions)
        return True

    def _sheds(self, entry: _Entry, pressure: float) -> bool:
        """Refuse by chance: the longer the wait, and the more work the call is, the likelier."""
        start = self._settings.queue.shed_from
        if pressure <= start:
            return False
        chance = (pressure - start) / max(1e-9, 1 - start)
        mean = self._queue.work / len(self._queue)
        size = cost(entry.job.prompt_tokens, entry.output) / max(1.0, mean)
        return self._rng.random() < min(1.0, chance * size)

    def _enqueue(self, entry: _Entry) -> None:
        job = entry.job
        self._queue.push(job, cost(job.prompt_tokens, entry.output))
        self._wait_at_most(entry, job.arrived)

    def _wait_at_most(self, entry: _Entry, since: float) -> None:
        entry.wait_until = since + self._settings.queue.max_wait[entry.job.tier]
        heappush(self._alarms, (entry.wait_until, entry.job.id, "wait"))

    def _end_wait(self, entry: _Entry, now: float, decisions: list[Decision]) -> None:
        """Refuse a call that has waited for as long as it may; one that is at a replica goes on."""
        if entry.replicas or now < entry.wait_until:
            return
        self._queue.remove(entry.job.id)
        self._refuse(entry, "failed" if entry.tried else "waited", now, decisions)

    def _pump(self, now: float, decisions: list[Decision]) -> None:
        """Send what can be sent, and refuse what can no longer be in time."""
        if self._again:
            self._send_again(now, decisions)
        if self._asides:
            self._send_awaiting(now, decisions)
        while self.fleet.open:
            waiting = self._queue.head(now)
            if waiting is None:
                return
            entry = self._entries[waiting.job.id]
            if self._discipline == "deadline" and self._late(entry, now):
                self._queue.remove(waiting.job.id)
                self._refuse(entry, "late", now, decisions)
                continue
            where = self._open_to(entry, now)
            if not where:
                return
            self._queue.take(waiting, now)
            replica, scores = self.choice.pick(entry.job, where, self._situation(entry, now))
            if replica.index in self.fleet.open or entry.released or not replica.place_in(now):
                self._send_to(entry, replica, scores, now, decisions)
            else:
                self._set_aside(entry, replica, now)

    def _set_aside(self, entry: _Entry, replica: Replica, now: float) -> None:
        """Let a call wait for the one replica that is best for it, although others are open."""
        entry.awaits = replica.index
        self._aside.setdefault(replica.index, {})[entry.job.id] = entry
        self._asides += 1
        heappush(self._alarms, (now + 2 * replica.place_in(now), entry.job.id, "release"))
        replica.awaited += 1

    def _back(self, entry: _Entry) -> None:
        """It waits for that replica no more."""
        if entry.awaits >= 0:
            there = self._aside[entry.awaits]
            del there[entry.job.id]
            if not there:
                del self._aside[entry.awaits]
            self._asides -= 1
            self.fleet.replicas[entry.awaits].awaited -= 1
            entry.awaits = -1

    def _send_awaiting(self, now: float, decisions: list[Decision]) -> None:
        for index in list(self._aside):
            if index not in self.fleet.usable:
                for entry in list(self._aside[index].values()):
                    self._back(entry)
                    self._queue.push(entry.job, cost(entry.job.prompt_tokens, entry.output))
                continue
            replica = self.fleet.replicas[index]
            while index in self._aside and replica.load(now) < replica.limit.value:
                entry = next(iter(self._aside[index].values()))
                self._back(entry)
                self._send_to(entry, replica, (), now, decisions)

    def _late(self, entry: _Entry, now: float) -> bool:
        """Whether not even the quickest replica would be in time."""
        job = entry.job
        if job.deadline == inf and job.first_token_due == inf:
            return False
        first = self.fleet.typical.first_token(job.prompt_tokens) if not job.blocks else 0.0
        return now + self._quickest(entry) > job.deadline or now + first > job.first_token_due

    def _quickest(self, entry: _Entry) -> float:
        """Seconds to the whole answer at a replica with nothing else to do."""
        prompt = 0.0 if entry.job.blocks else float(entry.job.prompt_tokens)
        return self.fleet.typical.answer(prompt, entry.output, 1.0)

    def _retry_after(self, job: Job, now: float) -> float:
        """Seconds after which asking again may help: until a replica may be asked, or until what waits before has been served."""
        if not self.fleet.usable:
            recovery = self.fleet.next_recovery()
            return max(0.0, recovery - now) if recovery < inf else 1.0
        return max(1.0, self._drain.seconds(self._queue.work_before(job)))

    # -- replicas

    def _situation(self, entry: _Entry, now: float) -> Situation:
        job = entry.job
        due = job.first_token_due
        if job.deadline < inf:
            due = min(due, job.deadline - self.fleet.typical.per_token(1.0) * entry.output)
        return Situation(now, self.fleet, self._settings.block_tokens, entry.output, due - now, self._home)

    def _open_to(self, entry: _Entry, now: float) -> Sequence[Replica]:
        """Replicas that can take the job now."""
        job = entry.job
        share = 1.0 - self._settings.queue.headroom[job.tier]
        return [
            replica
            for replica in self.choice.candidates(job, self.fleet.open, self._situation(entry, now))
            if (replica.fits(job, share, entry.output, now) or (not entry.released and replica.index not in self.fleet.open and replica.index in self.fleet.usable))
            and replica.index not in entry.tried
            and replica.index not in entry.replicas
            and self._lets_start(replica, now)
        ]

    def _lets_start(self, replica: Replica, now: float) -> bool:
        """Whether a replica that joined lately is looked at: the longer it is there, the likelier."""
        slowly, age = self._settings.slow_start, now - replica.joined
        return age >= slowly or not replica.out or self._rng.random() * slowly < age

    def _send_anywhere(self, entry: _Entry, now: float, decisions: list[Decision]) -> None:
        """Send a job at once, whatever waits at the replicas, or refuse it."""
        found = self.choice.candidates(entry.job, self.fleet.usable, self._situation(entry, now))
        found = [replica for replica in found if replica.index not in entry.tried]
        where = [replica for replica in found if self._lets_start(replica, now)] or found
        if where:
            self._send(entry, where, now, decisions)
        else:
            self._refuse(entry, "failed" if entry.tried else "no_replica", now, decisions)

    def _send(self, entry: _Entry, where: Sequence[Replica], now: float, decisions: list[Decision], *, hedge: bool = False) -> None:
        replica, scores = self.choice.pick(entry.job, where, self._situation(entry, now))
        self._send_to(entry, replica, scores, now, decisions, hedge=hedge)

    def _send_to(self, entry, replica, scores, now, decisions, *, hedge=False) -> None:
        job = entry.job
        uncached = replica.uncached(job, self._settings.block_tokens)
        out = Out(job, now, uncached, replica.backlog(now) + uncached, entry.output, replica.calls, hedge=hedge)
        self._health.begins(replica, out, now)
        replica.take(out)
        self.fleet.refresh(replica, now)
        entry.replicas.append(replica.index)
        if not hedge:
            self._drain.sent(job.prompt_tokens, entry.output, now, waiting=bool(self._queue))
            self._charge(entry, cost(uncached, entry.output))
        self._set_alarms(replica, out, now)
        decisions.append(Dispatch(job, replica.index, scores, hedge))

    def _set_alarms(self, replica: Replica, out: Out, now: float) -> None:
        patience = self._health.patience(replica, out)
        if patience < inf:
            heappush(self._alarms, (now + patience, out.job.id, "late"))
        if not out.hedge and self._settings.retries.hedge_budget and len(self.fleet) > 1:
            unusual = self._waits.unusual(out.uncached)
            if unusual < inf:
                heappush(self._alarms, (now + unusual, out.job.id, "hedge"))

    def _find_late(self, entry: _Entry, now: float) -> None:
        """A first token should have come by now: where it has not, that speaks against the replica."""
        for index in entry.replicas:
            replica = self.fleet.replicas[index]
            out = replica.out[entry.job.id]
            if not out.first_at and not out.judged and now - out.sent >= self._health.patience(replica, out) - 1e-9:
                self._health.late(replica, out, now)
                self.fleet.refresh(replica, now)

    def _withdraw(self, entry: _Entry, replica: int, now: float, decisions: list[Decision]) -> None:
        where = self.fleet.replicas[replica]
        out = where.out[entry.job.id]
        where.gone(out)
        self._health.says_nothing(where, out, now)
        self.fleet.refresh(where, now)
        entry.replicas.remove(replica)
        decisions.append(Withdraw(entry.job, replica))

    # -- trying twice

    def _try_again(self, entry: _Entry, may: bool, now: float, decisions: list[Decision]) -> None:
        """Let a call that failed wait for another replica, before all that wait; refuse it where that makes no sense."""
        settings = self._settings.retries
        others = len(entry.tried) < settings.attempts and any(
            index not in entry.tried for index in self.fleet.usable.some(settings.attempts, 0.0)
        )
        if not (may and others and not self._late(entry, now) and self._retries.spend()):
            self._refuse(entry, "failed", now, decisions)
        elif self._discipline == "none":
            self._send_anywhere(entry, now, decisions)
        else:
            self._again[entry.job.id] = entry
            self._wait_at_most(entry, now)

    def _send_again(self, now: float, decisions: list[Decision]) -> None:
        """Calls that failed elsewhere go first. They stand aside, because the replica that is open may be the one that failed them."""
        for entry in list(self._again.values())[:AGAIN_AT_ONCE]:
            if self._late(entry, now):
                self._refuse(entry, "failed", now, decisions)
                continue
            where = self._open_to(entry, now) if self.fleet.open else ()
            if where:
                del self._again[entry.job.id]
                self._send(entry, where, now, decisions)

    def _hedge(self, entry: _Entry, now: float, decisions: list[Decision]) -> None:
        """Ask a second replica, where one has room and nobody waits for it."""
        if entry.began or len(entry.replicas) != 1 or self.waiting:
            return
        where = [replica for replica in self._open_to(entry, now) if replica.breaker.view(now).state == "closed"]
        if where and self._hedges.spend():
            self._send(entry, where, now, decisions, hedge=True)

    # -- the end of a job

    def _charge(self, entry: _Entry, tokens: float) -> None:
        self.tenants.charge(entry.job.tenant, tokens - entry.charged)
        entry.charged = tokens

    def _correct(self, entry: _Entry, tokens: float) -> None:
        self.tenants.correct(entry.job.tenant, tokens - entry.charged)
        if tokens < entry.charged:
            self._queue.touched(entry.job.tenant)
        entry.charged = tokens

    def _refuse(self, entry: _Entry, reason: str, now: float, decisions: list[Decision]) -> None:
        if entry.charged:
            self._correct(entry, 0.0)
        decisions.append(Refuse(entry.job, reason, self._retry_after(entry.job, now)))
        self._over(entry)

    def _over(self, entry: _Entry) -> None:
        self._again.pop(entry.job.id, None)
        self._back(entry)
        if self._entries.pop(entry.job.id, None) is not None:
            self.tenants.left(entry.job.tenant)
