"""The scheduler of one deployment: events come in, decisions come out. It knows no clock, no socket and no thread."""

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from math import inf
from random import Random
from typing import Final

from antiphon.core.breaker_policy import BreakerView
from antiphon.core.schedules import RouteState
from antiphon.scheduling.admission import Admission
from antiphon.scheduling.choice import Choice
from antiphon.scheduling.degradation import Degradation
from antiphon.scheduling.fairness import TokenCounters, cost
from antiphon.scheduling.fleet import Fleet
from antiphon.scheduling.health import Health
from antiphon.scheduling.hedging import Waits
from antiphon.scheduling.held import Aside, Held
from antiphon.scheduling.info import ReplicaInfo, Reported
from antiphon.scheduling.job import NO_REASONS, Decision, Dispatch, Job, Reasons, Refuse, Withdraw
from antiphon.scheduling.policy import Discipline, Situation
from antiphon.scheduling.replica import Out, Replica
from antiphon.scheduling.retries import Budget
from antiphon.scheduling.settings import SchedulerSettings
from antiphon.scheduling.waiting import ArrivalQueue, WaitingQueue

AGAIN_AT_ONCE: Final = 16
"""Calls to be tried again that are looked at before the queue is."""


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
        self.degradation = Degradation(settings.degrade, settings.breaker.window)
        self._health = Health(self.fleet, settings.health, self.degradation.saw)
        self.tenants = TokenCounters()
        self._demand = self.fleet.shared.demand
        self._policy = tuple(policy)
        self.choice = Choice(policy, self._rng, stopwatch)
        self._discipline: Discipline = self.choice.queue
        self._queue = self._new_queue()
        self._again: dict[int, Held] = {}
        """Calls that failed somewhere and wait for another replica, before all others."""
        self._aside = Aside()
        self._admission = Admission(self.fleet, settings.queue, self._rng)
        self._held: dict[int, Held] = {}
        self._retries = Budget(settings.retries.budget, settings.retries.reserve)
        self._hedges = Budget(settings.retries.hedge_budget, 0.0)
        self._waits = Waits(settings.retries.hedge_quantile)
        self._alarms: list[tuple[float, int, str]] = []
        self.fleet.set(replicas, now, fresh=False)

    # -- what is known

    @property
    def waiting(self) -> int:
        """Jobs that wait for a replica."""
        return len(self._queue) + len(self._again) + len(self._aside)

    @property
    def running(self) -> int:
        """Jobs that are at a replica."""
        return len(self._held) - self.waiting

    def next_alarm(self) -> float:
        """When ``tick`` has something to do at the latest; infinite where nothing is due."""
        while self._alarms and self._alarms[0][1] not in self._held:
            heappop(self._alarms)
        return min(self._alarms[0][0] if self._alarms else inf, self.fleet.next_look())

    def state(self, name: str, now: float) -> RouteState:
        """How all is, for operators; ``name`` is the route's."""
        calls, twice = (self.waiting, round(self._queue.work)), (self._retries.spent, self._hedges.spent)
        score, refused, degraded = self.degradation.told(now)
        return RouteState(name, *calls, self.fleet.states(now), self.running, *twice, score, refused, degraded)

    # -- events

    def arrived(self, job: Job, now: float) -> list[Decision]:
        """A call came."""
        decisions: list[Decision] = []
        if job.id in self._held:
            return decisions
        self._retries.earn()
        self._hedges.earn()
        if self.degradation.in_use and (degrade := self.degradation.at_entry(job, now)):
            return [degrade]
        held = Held(job, self._admission.expected_output(job, now))
        self._demand.asked(job.tenant, cost(job.prompt_tokens, held.output), now)
        refusal = self._refusal_at_entry(held, now, decisions)
        if refusal:
            decisions.append(self._turned_down(held, refusal, now))
            return decisions
        self._held[job.id] = held
        self.tenants.came(job.tenant)
        if self._discipline == "none":
            self._send_anywhere(held, now, decisions)
        elif self.waiting or not self.fleet.open or not self._place(held, now, decisions):
            self._enqueue(held)
            self._pump(now, decisions)
        elif held.awaits >= 0:
            self._wait_at_most(held, job.arrived)
        return decisions

    def adopt(self, job: Job, replica: int, *, began: bool, now: float) -> None:
        """Take over a call that is at a replica already."""
        if not 0 <= replica < len(self.fleet.replicas):
            return
        held = self._held.get(job.id)
        if held is None:
            held = self._held[job.id] = Held(job, self._admission.expected_output(job, now))
            self.tenants.came(job.tenant)
        if replica in held.replicas:
            return
        self.fleet.replicas[replica].adopt(job, held.output, began=began, now=now)
        self.fleet.refresh(self.fleet.replicas[replica], now)
        held.replicas.append(replica)
        held.began = held.began or began

    def first_token(self, job_id: int, replica: int, now: float, *, cached_tokens: int = -1) -> list[Decision]:
        """A replica has begun to answer; of the prompt it had ``cached_tokens`` in its cache, where it says so.

        Others that were asked are told to stop.
        """
        decisions: list[Decision] = []
        held = self._held.get(job_id)
        if held is None or replica not in held.replicas:
            return decisions
        where = self.fleet.replicas[replica]
        out = where.out[job_id]
        if out.first_at >= 0:
            return decisions
        self._health.first_token(where, out, now)
        where.first_token(out, now)
        if cached_tokens >= 0:
            where.prefixes.found(held.job.prompt_tokens - out.uncached, cached_tokens)
        self._waits.saw(out.uncached, now - out.sent)
        held.began = True
        for other in [index for index in held.replicas if index != replica]:
            self._withdraw(held, other, now, decisions)
        self.fleet.refresh(where, now)
        self._pump(now, decisions)
        return decisions

    def finished(self, job_id: int, replica: int, output_tokens: int, now: float) -> list[Decision]:
        """An answer is whole."""
        decisions: list[Decision] = []
        held = self._held.get(job_id)
        if held is None or replica not in held.replicas:
            return decisions
        where = self.fleet.replicas[replica]
        out = where.out[job_id]
        if out.first_at < 0 and held.job.streams:
            decisions += self.first_token(job_id, replica, now)
        for other in [index for index in held.replicas if index != replica]:
            self._withdraw(held, other, now, decisions)
        where.finished(out, output_tokens, now)
        self._health.finished(where, out, output_tokens, now)
        self.fleet.refresh(where, now)
        self._admission.lengths.learn(held.job.tenant, output_tokens)
        self._correct(held, cost(out.uncached, output_tokens))
        self._over(held)
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

        ``blame``: that speaks against it; ``unreachable``: no connection came about; ``retry_after``: seconds of rest it wants.
        The call goes to another replica where it may; else it is refused with reason ``failed``, and its caller hears what the
        replica said.
        """
        decisions: list[Decision] = []
        held = self._held.get(job_id)
        if held is None or replica not in held.replicas:
            return decisions
        where = self.fleet.replicas[replica]
        out = where.out[job_id]
        if blame:
            where.failed(out, now)
            self._health.failed(where, out, now, unreachable=unreachable)
        else:
            where.gone(out, now)
            self._health.says_nothing(where, out, now)
        if retry_after > 0:
            where.felt(retry_after, now)
            self._health.cools(where, retry_after, now)
        self.fleet.refresh(where, now)
        held.replicas.remove(replica)
        held.tried.append(replica)
        held.attempts += 1
        held.final = held.began or not retryable
        if not held.replicas:
            self._try_again(held, now, decisions)
        self._pump(now, decisions)
        return decisions

    def gone(self, job_id: int, now: float) -> list[Decision]:
        """The caller has left."""
        decisions: list[Decision] = []
        if (held := self._held.get(job_id)) is None:
            return decisions
        self._queue.remove(job_id)
        for replica in list(held.replicas):
            self._withdraw(held, replica, now, decisions)
        if not held.began and held.charged:
            self._correct(held, 0.0)
        self._over(held)
        self._pump(now, decisions)
        return decisions

    def metrics(self, replica: int, reported: Reported, now: float, since: float = inf) -> list[Decision]:
        """A replica told its load, as it was at some moment between ``since`` and now; without ``since``, as it is now."""
        decisions: list[Decision] = []
        if not 0 <= replica < len(self.fleet.replicas):
            return decisions
        where = self.fleet.replicas[replica]
        where.told(reported, now, since)
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
            if (held := self._held.get(job_id)) is None:
                continue
            if what == "wait":
                self._end_wait(held, now, decisions)
            elif what == "release":
                self._release(held)
            elif what == "hedge":
                self._hedge(held, now, decisions)
            elif what == "late":
                self._health.find_late(held, now)
        self._pump(now, decisions)
        return decisions

    def reconfigure(
        self, replicas: Sequence[ReplicaInfo], policy: Sequence[tuple[str, float]], settings: SchedulerSettings, now: float
    ) -> list[Decision]:
        """Take other replicas (told apart by name), policy and settings. Calls under way go on, also where a replica leaves."""
        decisions: list[Decision] = []
        for held in self._aside.everybody():
            self._take_back(held)
            self._queue.push(held.job, cost(held.job.prompt_tokens, held.output))
        fleet, retries = self.fleet, settings.retries
        fleet.breaker, fleet.backlog, fleet.panic_below = settings.breaker, settings.queue.backlog, settings.panic
        fleet.set(replicas, now, fresh=True)
        self._health.settings = settings.health
        self._admission.settings = settings.queue
        self.degradation.change(settings.degrade, settings.breaker.window)
        self._retries.change(retries.budget, retries.reserve)
        self._hedges.change(retries.hedge_budget, 0.0)
        self._waits.quantile = retries.hedge_quantile
        requeue = settings.queue != self._settings.queue or tuple(policy) != self._policy
        self._settings = settings
        if tuple(policy) != self._policy:
            self._policy = tuple(policy)
            self.choice = Choice(policy, self._rng, self._stopwatch)
            self._discipline = self.choice.queue
        if requeue:
            self._requeue(now, decisions)
        self._pump(now, decisions)
        return decisions

    # -- the queue

    def _new_queue(self) -> WaitingQueue | ArrivalQueue:
        queue = self._settings.queue
        return ArrivalQueue() if self._discipline == "fifo" else WaitingQueue(self.tenants, queue.floors, queue.patience)

    def _requeue(self, now: float, decisions: list[Decision]) -> None:
        """Whoever waits now waits by the new rules."""
        before, self._queue = self._queue, self._new_queue()
        for waiting in before.everybody():
            held = self._held[waiting.job.id]
            if self._discipline == "none":
                self._send_anywhere(held, now, decisions)
            else:
                self._enqueue(held)

    def _refusal_at_entry(self, held: Held, now: float, decisions: list[Decision]) -> str:
        """Why the job is refused before it waits; empty where it may."""
        if self._admission.nowhere(now, 0.0 if self._discipline == "none" else self._settings.queue.cooling_wait):
            return "no_replica"
        if self._discipline == "none":
            return ""
        refusal = self._admission.refusal(held, self._queue, now) if self._discipline == "deadline" else ""
        if refusal or len(self._queue) < max(1, self._settings.queue.max_waiting):
            return refusal
        return "" if self._make_room(held.job, now, decisions) else "queue_full"

    def _make_room(self, job: Job, now: float, decisions: list[Decision]) -> bool:
        """A place in a full queue, taken from whoever should give way first. What a replica has is never taken back."""
        waiting = self._queue.gives_way(job)
        if waiting is None:
            return False
        self._queue.remove(waiting.job.id)
        self._refuse(self._held[waiting.job.id], "queue_full", now, decisions)
        return True

    def _enqueue(self, held: Held) -> None:
        job = held.job
        self._queue.push(job, cost(job.prompt_tokens, held.output))
        self._wait_at_most(held, job.arrived)

    def _wait_at_most(self, held: Held, since: float) -> None:
        held.wait_until = since + self._settings.queue.max_wait[held.job.tier]
        heappush(self._alarms, (held.wait_until, held.job.id, "wait"))

    def _end_wait(self, held: Held, now: float, decisions: list[Decision]) -> None:
        """Refuse a call that has waited for as long as it may; one that is at a replica goes on."""
        if held.replicas or now < held.wait_until:
            return
        self._queue.remove(held.job.id)
        self._refuse(held, "failed" if held.attempts else "waited", now, decisions)

    def _pump(self, now: float, decisions: list[Decision]) -> None:
        """Send what can be sent, and refuse what can no longer be in time."""
        if self._again:
            self._send_again(now, decisions)
        if self._aside:
            self._send_awaiting(now, decisions)
        if self._queue and self._admission.nowhere(now, self._settings.queue.cooling_wait):
            self._turn_away(now, decisions)
        kept_off: str | None = None
        while self.fleet.open:
            waiting = self._queue.head(now, kept_off)
            if waiting is None:
                return
            held = self._held[waiting.job.id]
            if self._discipline == "deadline" and self._admission.late(held, now):
                self._queue.remove(waiting.job.id)
                self._refuse(held, "late", now, decisions)
                continue
            if self._place(held, now, decisions):
                continue
            if kept_off is not None or not self.fleet.kept_from(held.job.tenant):
                return
            kept_off = held.job.tenant

    def _place(self, held: Held, now: float, decisions: list[Decision]) -> bool:
        """Send a call to a replica that is open to it, or let it wait for a better one. Whether there was any."""
        situation = self._situation(held, now)
        where = self._open_to(held, situation)
        if not where:
            return False
        self._queue.remove(held.job.id)
        replica, reasons = self.choice.pick(held.job, where, situation)
        if held.released or not replica.place_in(now):
            self._send(held, replica, reasons, now, decisions)
        else:
            self._set_aside(held, replica, now)
        return True

    def _turn_away(self, now: float, decisions: list[Decision]) -> None:
        """No replica may be asked for a while: whoever waits hears at once for how long."""
        for waiting in self._queue.everybody():
            self._queue.remove(waiting.job.id)
            self._refuse(self._held[waiting.job.id], "no_replica", now, decisions)

    def _set_aside(self, held: Held, replica: Replica, now: float) -> None:
        """Let a call wait for the one replica that is best for it although others are open, for about as long as it seems."""
        heappush(self._alarms, (now + 2 * replica.place_in(now), held.job.id, "release"))
        replica.awaited += 1
        self._aside.put(held, replica.index)

    def _take_back(self, held: Held) -> None:
        self.fleet.replicas[held.awaits].awaited -= 1
        self._aside.remove(held)

    def _release(self, held: Held) -> None:
        """It has waited for one replica for long enough: whoever is open may have it."""
        if held.awaits >= 0:
            held.released = True
            self._take_back(held)
            self._queue.push(held.job, cost(held.job.prompt_tokens, held.output))

    def _send_awaiting(self, now: float, decisions: list[Decision]) -> None:
        """Those that waited for a replica that has room now; where it may not be asked any more, they wait for all again."""
        for index in self._aside.replicas():
            replica = self.fleet.replicas[index]
            while (held := self._aside.first(index)) is not None:
                if index not in self.fleet.usable:
                    self._release(held)
                elif replica.has_room(now):
                    self._take_back(held)
                    self._send(held, replica, NO_REASONS, now, decisions)
                else:
                    break

    # -- replicas

    def _situation(self, held: Held, now: float) -> Situation:
        job = held.job
        due = job.first_token_due
        if job.deadline < inf:
            due = min(due, job.deadline - self.fleet.typical.per_token(1.0) * held.output)
        return Situation(now, self.fleet, self._settings.block_tokens, held.output, due - now, self._home)

    def _open_to(self, held: Held, situation: Situation) -> Sequence[Replica]:
        """Replicas that can take the job now."""
        job, now, usable = held.job, situation.now, self.fleet.usable
        share = 1.0 - self._settings.queue.headroom[job.tier]
        quiet = self.fleet.kept_from(held.job.tenant)
        found: list[Replica] = []
        for replica in self.choice.candidates(job, self.fleet.open, situation):
            if not (replica.fits(job, share, held.output, now) or self._may_wait_for(held, replica)):
                continue
            if replica.index in held.tried or replica.index in held.replicas:
                continue
            if self._lets_start(replica, now) and (not quiet or usable.place(replica.index) >= quiet):
                found.append(replica)
        return found

    def _may_wait_for(self, held: Held, replica: Replica) -> bool:
        """Whether a full replica is looked at, because a policy has named it."""
        return not (held.released or held.replicas or held.attempts) and replica.index not in self.fleet.open

    def _lets_start(self, replica: Replica, now: float) -> bool:
        """Whether a replica that joined lately is looked at: the longer it is there, the likelier."""
        if replica.joined == -inf or not replica.out:
            return True
        slowly, age = self._settings.slow_start, now - replica.joined
        return age >= slowly or self._rng.random() * slowly < age

    def _send_anywhere(self, held: Held, now: float, decisions: list[Decision]) -> None:
        """Send a job at once, whatever waits at the replicas, or refuse it."""
        situation = self._situation(held, now)
        found = self.choice.candidates(held.job, self.fleet.usable, situation)
        found = [replica for replica in found if replica.index not in held.tried]
        where = [replica for replica in found if self._lets_start(replica, now)] or found
        if where:
            self._send_best(held, where, situation, decisions)
        else:
            self._refuse(held, "failed" if held.attempts else "no_replica", now, decisions)

    def _send_best(
        self, held: Held, where: Sequence[Replica], situation: Situation, decisions: list[Decision], *, hedge: bool = False
    ) -> None:
        replica, reasons = self.choice.pick(held.job, where, situation)
        self._send(held, replica, reasons, situation.now, decisions, hedge=hedge)

    def _send(
        self, held: Held, replica: Replica, reasons: Reasons, now: float, decisions: list[Decision], *, hedge: bool = False
    ) -> None:
        job = held.job
        uncached = replica.uncached(job, self._settings.block_tokens)
        out = Out(job, now, uncached, replica.backlog(now) + uncached, held.output, hedge=hedge)
        self._health.begins(replica, out, now)
        replica.take(out)
        self.fleet.refresh(replica, now)
        held.replicas.append(replica.index)
        if not hedge:
            self._admission.drain.sent(job.prompt_tokens, held.output, now, waiting=bool(self._queue))
            self._queue.served(job.tier, cost(job.prompt_tokens, held.output), now)
            self._charge(held, cost(uncached, held.output))
        self._set_alarms(out, now)
        decisions.append(Dispatch(job, replica.index, reasons, hedge))

    def _set_alarms(self, out: Out, now: float) -> None:
        if not out.job.streams:
            return  # nobody sees how far it is, so it can be neither late nor worth a hedge
        if out.late_at < inf:
            heappush(self._alarms, (out.late_at, out.job.id, "late"))
        if not out.hedge and self._settings.retries.hedge_budget and len(self.fleet) > 1:
            unusual = self._waits.unusual(out.uncached)
            if unusual < inf:
                heappush(self._alarms, (now + unusual, out.job.id, "hedge"))

    def _withdraw(self, held: Held, replica: int, now: float, decisions: list[Decision]) -> None:
        where = self.fleet.replicas[replica]
        out = where.out[held.job.id]
        where.gone(out, now)
        self._health.says_nothing(where, out, now)
        self.fleet.refresh(where, now)
        held.replicas.remove(replica)
        decisions.append(Withdraw(held.job, replica))

    # -- trying twice

    def _try_again(self, held: Held, now: float, decisions: list[Decision]) -> None:
        """Let a call that failed wait for another replica, before all that wait; refuse it where that makes no sense.

        Where no other may be asked, those that failed it are asked again after a pause, which doubles.
        """
        settings, usable = self._settings.retries, self.fleet.usable
        if held.final or held.attempts >= settings.attempts or not usable:
            self._refuse(held, "failed", now, decisions)
            return
        if all(index in held.tried for index in usable.some(settings.attempts, 0.0)):
            held.tried.clear()
            held.not_before = now + settings.pause * 2.0 ** (held.attempts - 1) * (0.5 + self._rng.random())
        if self._admission.late(held, max(now, held.not_before)) or not self._retries.spend():
            self._refuse(held, "failed", now, decisions)
            return
        self._again[held.job.id] = held
        self._wait_at_most(held, now)
        if held.not_before > now:
            heappush(self._alarms, (held.not_before, held.job.id, "again"))

    def _send_again(self, now: float, decisions: list[Decision]) -> None:
        """Calls that failed elsewhere go first. They stand apart: what is open may be what failed them."""
        for held in list(self._again.values())[:AGAIN_AT_ONCE]:
            if now < held.not_before:
                continue
            if self._discipline == "none":
                del self._again[held.job.id]
                self._send_anywhere(held, now, decisions)
            elif self._admission.late(held, now):
                self._refuse(held, "failed", now, decisions)
            elif self.fleet.open:
                situation = self._situation(held, now)
                where = self._open_to(held, situation)
                if where:
                    del self._again[held.job.id]
                    self._send_best(held, where, situation, decisions)

    def _hedge(self, held: Held, now: float, decisions: list[Decision]) -> None:
        """Ask a second replica, where one has room and nobody waits for it."""
        if held.began or len(held.replicas) != 1 or self.waiting:
            return
        situation = self._situation(held, now)
        where = [replica for replica in self._open_to(held, situation) if replica.breaker.view(now).state == "closed"]
        if where and self._hedges.spend():
            self._send_best(held, where, situation, decisions, hedge=True)

    # -- the end of a job

    def _charge(self, held: Held, tokens: float) -> None:
        self.tenants.charge(held.job.tenant, tokens - held.charged)
        held.charged = tokens

    def _correct(self, held: Held, tokens: float) -> None:
        self.tenants.correct(held.job.tenant, tokens - held.charged)
        if tokens < held.charged:
            self._queue.touched(held.job.tenant)
        held.charged = tokens

    def _refuse(self, held: Held, reason: str, now: float, decisions: list[Decision]) -> None:
        if held.charged:
            self._correct(held, 0.0)
        decisions.append(self._turned_down(held, reason, now))
        self._over(held)

    def _turned_down(self, held: Held, reason: str, now: float) -> Decision:
        refusal = Refuse(held.job, reason, self._admission.retry_after(held.job, self._queue, now))
        return self.degradation.instead_of(refusal, now, final=held.final, dead=self.fleet.all_sick)

    def _over(self, held: Held) -> None:
        self._again.pop(held.job.id, None)
        if held.awaits >= 0:
            self._take_back(held)
        if self._held.pop(held.job.id, None) is not None:
            self.tenants.left(held.job.tenant)
