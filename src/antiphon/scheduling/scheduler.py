"""The scheduler of one deployment: events come in, decisions come out. It knows no clock, no socket and no thread."""

from collections.abc import Sequence
from heapq import heappop, heappush
from math import inf
from random import Random

from antiphon.core.breaker import Breaker
from antiphon.core.schedules import RouteState
from antiphon.scheduling.choice import SAMPLE, Choice, Situation
from antiphon.scheduling.fairness import TokenCounters, cost
from antiphon.scheduling.fleet import Fleet, Out, Replica, ReplicaInfo, Reported
from antiphon.scheduling.hedging import Waits
from antiphon.scheduling.job import Decision, Dispatch, Job, Refuse, Withdraw
from antiphon.scheduling.lengths import Lengths
from antiphon.scheduling.retries import Budget
from antiphon.scheduling.settings import SchedulerSettings
from antiphon.scheduling.speed import Drain
from antiphon.scheduling.waiting import ArrivalQueue, WaitingQueue


class _Entry:
    """What the scheduler holds of a job from its arrival to its end."""

    __slots__ = ("began", "charged", "job", "output", "replicas", "tried")

    def __init__(self, job: Job, output: float) -> None:
        self.job = job
        self.output = output
        self.charged = 0.0
        self.began = False
        self.replicas: list[int] = []
        """Where it is now."""
        self.tried: list[int] = []
        """Where it has failed."""


class Scheduler:
    """Decides for one deployment. Every method takes the time, in seconds of one monotonic clock, and gives back what to do now."""

    def __init__(
        self,
        replicas: Sequence[ReplicaInfo],
        policy: Sequence[tuple[str, float]],
        settings: SchedulerSettings,
        *,
        seed: int = 0,
        now: float = 0.0,
    ) -> None:
        self._settings = settings
        self._rng = Random(seed)  # noqa: S311 - a decision can be replayed, and guards nothing
        self._choice = Choice(policy, self._rng)
        self._discipline = self._choice.queue
        self.fleet = Fleet(replicas, settings.breaker, now)
        self._counters = TokenCounters()
        queue = settings.queue
        self._queue: WaitingQueue | ArrivalQueue = (
            ArrivalQueue() if self._discipline == "fifo" else WaitingQueue(self._counters, queue.floors, queue.patience)
        )
        self._lengths = Lengths()
        self._drain = Drain()
        self._entries: dict[int, _Entry] = {}
        self._retries = Budget(settings.retries.budget, settings.retries.reserve)
        self._hedges = Budget(settings.retries.hedge_budget, 0.0)
        self._waits = Waits(settings.retries.hedge_quantile)
        self._alarms: list[tuple[float, int, str]] = []
        self._trials = 0

    # -- what is known

    @property
    def waiting(self) -> int:
        """Jobs in the queue."""
        return len(self._queue)

    def expected_wait(self, job: Job) -> float:
        """Seconds that the job would wait if it came now."""
        return self._drain.seconds(self._queue.work_before(job))

    def next_alarm(self) -> float:
        """When ``tick`` has something to do at the latest; infinite where nothing is due."""
        return self._alarms[0][0] if self._alarms else inf

    def state(self, name: str, now: float) -> RouteState:
        """How all is, for operators; ``name`` is the route's."""
        return RouteState(name, len(self._queue), round(self._queue.work), tuple(each.state(now) for each in self.fleet.replicas))

    # -- events

    def arrived(self, job: Job, now: float) -> list[Decision]:
        """A call came."""
        decisions: list[Decision] = []
        self._retries.earn()
        self._hedges.earn()
        entry = _Entry(job, self._expected_output(job, now))
        if self._discipline == "none":
            self._entries[job.id] = entry
            self._counters.came(job.tenant)
            if not self._send_anywhere(entry, now, decisions):
                self._refuse(entry, "no_replica", now, decisions)
            return decisions
        refusal = self._refusal_at_entry(entry, now, decisions)
        if refusal:
            decisions.append(Refuse(job, refusal, self._retry_after(job)))
            return decisions
        self._entries[job.id] = entry
        self._counters.came(job.tenant)
        self._enqueue(entry, now)
        self._pump(now, decisions)
        return decisions

    def adopt(self, job: Job, replica: int, *, began: bool, now: float) -> None:
        """Take over a call that is at a replica already."""
        entry = self._entries.get(job.id)
        if entry is None:
            entry = self._entries[job.id] = _Entry(job, self._expected_output(job, now))
            self._counters.came(job.tenant)
        if replica in entry.replicas or replica >= len(self.fleet):
            return
        where = self.fleet.replicas[replica]
        uncached = 0.0 if began else float(job.prompt_tokens)
        out = Out(job, now, uncached, where.prefill_tokens + uncached, entry.output, where.calls, first_at=now if began else 0.0)
        where.take(out)
        entry.replicas.append(replica)
        entry.began = entry.began or began

    def first_token(self, job_id: int, replica: int, now: float) -> list[Decision]:
        """A replica has begun to answer. Others that were asked are told to stop."""
        decisions: list[Decision] = []
        entry = self._entries.get(job_id)
        if entry is None or replica not in entry.replicas:
            return decisions
        where = self.fleet.replicas[replica]
        out = where.out[job_id]
        where.first_token(out, now)
        self._waits.saw(out.uncached, now - out.sent)
        entry.began = True
        for other in [index for index in entry.replicas if index != replica]:
            self._withdraw(entry, other, now, decisions)
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
        self._verdict(where, out, True, now)
        self._lengths.learn(entry.job.tenant, output_tokens)
        self._correct(entry, cost(out.uncached, output_tokens))
        self._over(entry)
        self._pump(now, decisions)
        return decisions

    def failed(
        self, job_id: int, replica: int, now: float, *, retryable: bool = True, blame: bool = True, retry_after: float = 0.0
    ) -> list[Decision]:
        """A replica has failed a call. ``blame``: that speaks against it; ``retry_after``: seconds that it wants to rest.

        The call goes to another replica where it may; else it is refused with reason ``failed``, and its caller hears what the
        replica said.
        """
        decisions: list[Decision] = []
        entry = self._entries.get(job_id)
        if entry is None or replica not in entry.replicas:
            return decisions
        where = self.fleet.replicas[replica]
        out = where.out[job_id]
        if retry_after > 0:
            where.cooling_until = max(where.cooling_until, now + retry_after)
            heappush(self._alarms, (where.cooling_until, 0, "well"))
        if blame:
            where.failed(out, now)
            self._verdict(where, out, False, now)
        else:
            where.gone(out)
            self._verdict(where, out, None, now)
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
        self._over(entry)
        self._pump(now, decisions)
        return decisions

    def metrics(self, replica: int, reported: Reported, now: float) -> list[Decision]:
        """A replica told its load."""
        self.fleet.replicas[replica].told(reported, now)
        return []

    def tick(self, now: float) -> list[Decision]:
        """Time has passed: waits that are over, hedges that are due, replicas that are well again."""
        decisions: list[Decision] = []
        while self._alarms and self._alarms[0][0] <= now:
            _, job_id, what = heappop(self._alarms)
            entry = self._entries.get(job_id)
            if what == "wait" and entry is not None and self._queue.remove(job_id) is not None:
                self._refuse(entry, "waited", now, decisions)
            elif what == "hedge" and entry is not None:
                self._hedge(entry, now, decisions)
        self._pump(now, decisions)
        return decisions

    # -- the queue

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
        if self._discipline != "deadline":
            return "" if self._make_room(entry.job, now, decisions) else "queue_full"
        job, settings = entry.job, self._settings.queue
        if not self._queue:
            return ""
        wait = self.expected_wait(job)
        if now + wait + self._quickest(entry) > job.deadline or now + wait > job.first_token_due:
            return "late"
        if wait > settings.max_wait[job.tier]:
            return "waited"
        if job.sheddable and job.tier and self._sheds(entry, wait / settings.max_wait[job.tier]):
            return "shed"
        return "" if self._make_room(job, now, decisions) else "queue_full"

    def _make_room(self, job: Job, now: float, decisions: list[Decision]) -> bool:
        """A place in the queue, taken from the last call of a lower tier where it is full."""
        del decisions, now
        return len(self._queue) < max(1, self._settings.queue.max_waiting) or not self._queue

    def _sheds(self, entry: _Entry, pressure: float) -> bool:
        """Refuse by chance: the longer the wait, and the more work the call is, the likelier."""
        start = self._settings.queue.shed_from
        if pressure <= start:
            return False
        chance = (pressure - start) / max(1e-9, 1 - start)
        mean = self._queue.work / len(self._queue)
        size = cost(entry.job.prompt_tokens, entry.output) / max(1.0, mean)
        return self._rng.random() < min(1.0, chance * size)

    def _enqueue(self, entry: _Entry, now: float) -> None:
        job = entry.job
        self._queue.push(job, cost(job.prompt_tokens, entry.output))
        heappush(self._alarms, (job.arrived + self._settings.queue.max_wait[job.tier], job.id, "wait"))

    def _pump(self, now: float, decisions: list[Decision]) -> None:
        """Send what can be sent, and refuse what can no longer be in time."""
        while True:
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
            self._send(entry, where, now, decisions)

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

    def _retry_after(self, job: Job) -> float:
        return max(1.0, self._drain.seconds(self._queue.work_before(job)))

    # -- replicas

    def _open_to(self, entry: _Entry, now: float) -> Sequence[Replica]:
        """Replicas that can take the job now."""
        settings, job = self._settings, entry.job
        share = 1.0 - settings.queue.headroom[job.tier]
        replicas = self._choice.sample(self._well(now))
        return [
            replica
            for replica in replicas
            if replica.fits(job, share, entry.output)
            and replica.index not in entry.tried
            and replica.index not in entry.replicas
            and (not replica.calls or replica.speed.first_token(replica.prefill_tokens) < settings.queue.backlog)
        ]

    def _well(self, now: float) -> Sequence[Replica]:
        replicas = self.fleet.replicas
        if len(replicas) > SAMPLE:
            replicas = self._rng.sample(replicas, SAMPLE)
        well = [replica for replica in replicas if replica.well(now)]
        return well if len(well) >= self._settings.panic * len(replicas) and well else replicas

    def _send_anywhere(self, entry: _Entry, now: float, decisions: list[Decision]) -> bool:
        """Send a job at once, whatever waits at the replicas."""
        where = [replica for replica in self._well(now) if replica.index not in entry.tried]
        if where:
            self._send(entry, where, now, decisions)
        return bool(where)

    def _send(self, entry: _Entry, where: Sequence[Replica], now: float, decisions: list[Decision], *, hedge: bool = False) -> None:
        job, settings = entry.job, self._settings
        due = job.first_token_due if job.first_token_due < inf else job.deadline
        situation = Situation(now, settings.block_tokens, entry.output, due - now)
        replica, scores = self._choice.pick(job, where, situation)
        uncached = replica.uncached(job, settings.block_tokens)
        out = Out(job, now, uncached, replica.prefill_tokens + uncached, entry.output, replica.calls, hedge=hedge)
        self._take_trial(replica, out, now)
        replica.take(out)
        entry.replicas.append(replica.index)
        if not hedge:
            self._drain.sent(job.prompt_tokens, entry.output, now, waiting=bool(self._queue))
            self._charge(entry, cost(uncached, entry.output))
            self._plan_hedge(job, uncached, now)
        decisions.append(Dispatch(job, replica.index, scores, hedge))

    def _take_trial(self, replica: Replica, out: Out, now: float) -> None:
        breaker: Breaker = replica.breaker
        if breaker.view(now).state == "half_open":
            self._trials += 1
            if breaker.acquire(replica.breaker_policy, self._trials, now):
                out.trial = self._trials

    def _verdict(self, replica: Replica, out: Out, ok: bool | None, now: float) -> None:
        policy = replica.breaker_policy
        if out.trial:
            replica.breaker.conclude(policy, out.trial, ok, now)
        elif ok is not None:
            replica.breaker.count(policy, int(ok), int(not ok), now)
        if replica.breaker.view(now).state == "open":
            heappush(self._alarms, (replica.breaker.view(now).until, 0, "well"))

    def _withdraw(self, entry: _Entry, replica: int, now: float, decisions: list[Decision]) -> None:
        where = self.fleet.replicas[replica]
        out = where.out[entry.job.id]
        where.gone(out)
        self._verdict(where, out, None, now)
        entry.replicas.remove(replica)
        decisions.append(Withdraw(entry.job, replica))

    # -- trying twice

    def _try_again(self, entry: _Entry, may: bool, now: float, decisions: list[Decision]) -> None:
        settings = self._settings.retries
        others = len(entry.tried) < min(settings.attempts, len(self.fleet))
        if not (may and others and now < entry.job.deadline and self._retries.spend()):
            self._refuse(entry, "failed", now, decisions)
        elif self._discipline != "none":
            self._queue.push(entry.job, cost(entry.job.prompt_tokens, entry.output))
        elif not self._send_anywhere(entry, now, decisions):
            self._refuse(entry, "failed", now, decisions)

    def _plan_hedge(self, job: Job, uncached: float, now: float) -> None:
        if self._settings.retries.hedge_budget and len(self.fleet) > 1:
            unusual = self._waits.unusual(uncached)
            if unusual < inf:
                heappush(self._alarms, (now + unusual, job.id, "hedge"))

    def _hedge(self, entry: _Entry, now: float, decisions: list[Decision]) -> None:
        """Ask a second replica, where one has room and nobody waits for it."""
        if entry.began or len(entry.replicas) != 1 or self._queue:
            return
        where = self._open_to(entry, now)
        if where and self._hedges.spend():
            self._send(entry, where, now, decisions, hedge=True)

    # -- the end of a job

    def _charge(self, entry: _Entry, tokens: float) -> None:
        self._counters.charge(entry.job.tenant, tokens - entry.charged)
        entry.charged = tokens

    def _correct(self, entry: _Entry, tokens: float) -> None:
        self._counters.correct(entry.job.tenant, tokens - entry.charged)
        if tokens < entry.charged:
            self._queue.touched(entry.job.tenant)
        entry.charged = tokens

    def _refuse(self, entry: _Entry, reason: str, now: float, decisions: list[Decision]) -> None:
        del now
        if entry.charged:
            self._correct(entry, 0.0)
        decisions.append(Refuse(entry.job, reason, self._retry_after(entry.job)))
        self._over(entry)

    def _over(self, entry: _Entry) -> None:
        if self._entries.pop(entry.job.id, None) is not None:
            self._counters.left(entry.job.tenant)
