"""Any order of events, also late, repeated and unknown ones: no call is lost or run twice, none waits for ever, counts agree."""

from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from antiphon.core.breaker_policy import BreakerPolicy, BreakerView
from antiphon.scheduling.fairness import cost
from antiphon.scheduling.info import ReplicaInfo, Reported
from antiphon.scheduling.job import Dispatch, Job, Refuse, Withdraw
from antiphon.scheduling.scheduler import Scheduler
from antiphon.scheduling.settings import LimitSettings, QueueSettings, RetrySettings, SchedulerSettings

MAX_WAIT = (4.0, 3.0, 2.0)
SETTINGS = SchedulerSettings(
    queue=QueueSettings(max_waiting=6, max_wait=MAX_WAIT, patience=3.0),
    breaker=BreakerPolicy(open_for=2.0, minimum_calls=2, trials=2, trial_lease=3.0),
    retries=RetrySettings(hedge_budget=0.5, hedge_quantile=0.5),
    slow_start=1.0,
)
POLICIES = ("balanced", "prefix", "session", "p2c", "consistent_hash", "fifo", "round_robin")
NAMES = ("a", "b", "c", "d", "e")


def infos(names):
    return [
        ReplicaInfo(name, limits=LimitSettings(max_calls=2 + place, min_calls=1), cache_blocks=8)
        for place, name in enumerate(names)
    ]


@dataclass
class Known:
    """What a caller and the replicas know of a call."""

    job: Job
    since: float
    at: dict[int, bool] = field(default_factory=dict)
    """Replica to whether its first token came."""
    ended: bool = False


class Machine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.now = 0.0
        self.names: tuple[str, ...] = NAMES[:3]
        self.policy = (("balanced", 1.0),)
        self.settings = SETTINGS
        self.scheduler = Scheduler(infos(self.names), self.policy, SETTINGS, seed=7)
        self.log = []
        self.calls = {}
        self.arrived = self.hedged = 0

    # -- events

    def tell(self, name, *args, **more):
        """An event, and everything that it leads to."""
        decisions = getattr(self.scheduler, name)(*args, **more)
        self.log.append((name, args, more, decisions))
        for decision in decisions:
            known = self.calls[decision.job.id]
            assert not known.ended, f"{decision} of a call that is over"
            if isinstance(decision, Dispatch):
                self.obey(decision, known)
            elif isinstance(decision, Withdraw):
                del known.at[decision.replica]
            else:
                assert isinstance(decision, Refuse)
                assert decision.retry_after >= 0
                assert not known.at, "refused while it runs"
                known.ended = True

    def obey(self, decision, known):
        assert decision.replica not in known.at, "twice at one replica"
        assert not self.scheduler.fleet.replicas[decision.replica].leaving, "sent to a replica that leaves"
        assert not any(known.at.values()), "sent although its answer has begun"
        assert decision.hedge == bool(known.at), "run twice"
        assert len(known.at) < 2
        if decision.hedge:
            self.hedged += 1
            assert not self.scheduler.waiting
        known.at[decision.replica] = False

    @rule(
        tier=st.integers(0, 2),
        tenant=st.sampled_from("xyz"),
        prompt=st.sampled_from((1, 40, 700, 3000)),
        realtime=st.booleans(),
        sheddable=st.booleans(),
        due=st.sampled_from((0.2, 3.0, 1e9)),
        blocks=st.integers(0, 4),
        root=st.integers(0, 2),
    )
    def arrive(self, tier, tenant, prompt, realtime, sheddable, due, blocks, root):
        self.arrived += 1
        job = Job(
            id=self.arrived,
            arrived=self.now,
            prompt_tokens=prompt + 512 * blocks,
            max_tokens=100,
            tier=tier,
            tenant=tenant,
            realtime=realtime,
            sheddable=sheddable,
            deadline=self.now + due,
            blocks=tuple(root * 100 + place for place in range(blocks)),
            session=f"s{root}" if blocks else "",
        )
        self.calls[job.id] = Known(job, self.now)
        self.tell("arrived", job, self.now)
        known = self.calls[job.id]
        assert known.ended or known.at or self.scheduler.waiting

    def somewhere(self, which):
        pairs = [(job_id, replica) for job_id, known in self.calls.items() for replica in known.at]
        return pairs[which % len(pairs)] if pairs else None

    @precondition(lambda self: self.somewhere(0))
    @rule(which=st.integers(0, 30), cached=st.sampled_from((-1, 0, 512)))
    def first_token(self, which, cached):
        job_id, replica = self.somewhere(which)
        known = self.calls[job_id]
        known.at[replica] = True
        self.tell("first_token", job_id, replica, self.now, cached_tokens=cached)
        assert list(known.at) == [replica], "the others were not told to stop"

    @precondition(lambda self: self.somewhere(0))
    @rule(which=st.integers(0, 30), tokens=st.integers(0, 300))
    def finish(self, which, tokens):
        job_id, replica = self.somewhere(which)
        known = self.calls[job_id]
        before = dict(known.at)
        self.tell("finished", job_id, replica, tokens, self.now)
        assert not (set(known.at) - {replica}) or len(before) == 1
        known.at.clear()
        known.ended = True

    @precondition(lambda self: self.somewhere(0))
    @rule(
        which=st.integers(0, 30),
        retryable=st.booleans(),
        blame=st.booleans(),
        unreachable=st.booleans(),
        rest=st.sampled_from((0.0, 0.0, 0.5, 5.0)),
    )
    def fail(self, which, retryable, blame, unreachable, rest):
        job_id, replica = self.somewhere(which)
        known = self.calls[job_id]
        began = known.at.pop(replica)
        known.since = self.now
        self.tell("failed", job_id, replica, self.now, retryable=retryable, blame=blame, unreachable=unreachable, retry_after=rest)
        if began or not retryable:
            assert known.ended or known.at, "tried again although it must not be"

    @precondition(lambda self: any(not known.ended for known in self.calls.values()))
    @rule(which=st.integers(0, 30))
    def leave(self, which):
        alive = [known for known in self.calls.values() if not known.ended]
        known = alive[which % len(alive)]
        self.tell("gone", known.job.id, self.now)
        assert not known.at, "a replica goes on for nobody"
        known.ended = True

    @rule(job_id=st.integers(0, 60), replica=st.integers(0, 2), what=st.sampled_from(("first_token", "finished", "failed", "gone")))
    def late_or_unknown(self, job_id, replica, what):
        """What nobody can mean: of calls that are over, were never there, or are not at that replica."""
        known = self.calls.get(job_id)
        if known is not None and not known.ended and (replica in known.at or what == "gone"):
            return
        before = self.scheduler.waiting, self.scheduler.running
        if what == "gone":
            self.tell("gone", job_id, self.now)
        elif what == "finished":
            self.tell("finished", job_id, replica, 5, self.now)
        else:
            self.tell(what, job_id, replica, self.now)
        assert self.log[-1][3] == []
        assert before == (self.scheduler.waiting, self.scheduler.running)

    @precondition(lambda self: any(not known.ended for known in self.calls.values()))
    @rule()
    def arrive_again(self):
        known = next(known for known in self.calls.values() if not known.ended)
        self.tell("arrived", known.job, self.now)
        assert self.log[-1][3] == []

    @rule(replica=st.integers(0, 2), running=st.integers(0, 6), waiting=st.integers(0, 6))
    def metrics(self, replica, running, waiting):
        self.tell("metrics", replica, Reported(running, waiting), self.now)

    @rule(replica=st.integers(0, 2), state=st.sampled_from(("open", "half_open", "closed")))
    def board(self, replica, state):
        """Another process says how a breaker stands."""
        term = self.scheduler.fleet.replicas[replica].breaker.view(self.now).term + 1
        self.tell("health", replica, BreakerView(state, term, self.now + 1.5), self.now)

    @rule(seconds=st.sampled_from((0.01, 0.3, 1.0, 3.0, 10.0)))
    def time(self, seconds):
        until = self.now + seconds
        while self.scheduler.next_alarm() <= until:
            self.now = max(self.now, self.scheduler.next_alarm())
            self.tell("tick", self.now)
        self.now = until
        self.tell("tick", self.now)
        for known in self.calls.values():
            if not known.ended and not known.at:
                assert self.now <= known.since + MAX_WAIT[known.job.tier] + 1e-6, "waits for longer than it may"

    @rule(count=st.integers(1, 5), start=st.integers(0, 4), policy=st.sampled_from(POLICIES), floors=st.booleans())
    def reconfigure(self, count, start, policy, floors):
        self.names = tuple(NAMES[(start + place) % 5] for place in range(count))
        self.policy = ((policy, 1.0),)
        queue = QueueSettings(max_waiting=6, max_wait=MAX_WAIT, patience=3.0, floors=(0.0, 0.2, 0.2) if floors else (0.0, 0.0, 0.0))
        self.settings = SchedulerSettings(
            queue=queue, breaker=SETTINGS.breaker, retries=SETTINGS.retries, slow_start=SETTINGS.slow_start
        )
        for known in self.calls.values():
            known.since = max(known.since, known.job.arrived)
        running = {job_id: set(known.at) for job_id, known in self.calls.items() if known.at}
        self.tell("reconfigure", infos(self.names), self.policy, self.settings, self.now)
        for job_id, where in running.items():
            assert where <= set(self.calls[job_id].at), "a call under way was cut off"

    # -- what must always hold

    @invariant()
    def nothing_is_lost(self):
        alive = [known for known in self.calls.values() if not known.ended]
        assert self.scheduler.waiting == sum(not known.at for known in alive)
        assert self.scheduler.running == sum(bool(known.at) for known in alive)

    @invariant()
    def counts_agree(self):
        fleet = self.scheduler.fleet
        assert fleet.calls == sum(len(known.at) for known in self.calls.values())
        for replica in fleet.replicas:
            there = {job_id: known.at[replica.index] for job_id, known in self.calls.items() if replica.index in known.at}
            assert set(replica.out) == set(there)
            outs = replica.out.values()
            assert replica.prefill_tokens == pytest.approx(sum(out.uncached for out in outs if out.first_at < 0), abs=1e-6)
            assert replica.tokens == pytest.approx(sum(out.job.prompt_tokens + out.output for out in outs), abs=1e-6)
            assert replica.answers == pytest.approx(sum(out.output for out in outs), abs=1e-6)
            assert replica.awaited >= 0

    @invariant()
    def tenants_agree(self):
        alive = [known.job.tenant for known in self.calls.values() if not known.ended]
        for tenant in "xyz":
            assert self.scheduler.tenants.present(tenant) == alive.count(tenant)

    @invariant()
    def whoever_may_be_asked_is_known(self):
        fleet = self.scheduler.fleet
        for replica in fleet.replicas:
            if replica.leaving:
                assert replica.index not in fleet.usable
            if replica.index in fleet.open:
                assert replica.index in fleet.usable
            if self.now < replica.cooling_until:
                assert replica.index not in fleet.usable
        assert len(fleet) == len(self.names)

    @invariant()
    def hedges_keep_to_their_share(self):
        assert self.hedged <= 0.5 * self.arrived

    def teardown(self):
        """In the end everything is over, and the same events lead to the same decisions."""
        for _ in range(200):
            pair = self.somewhere(0)
            if pair is not None:
                self.finish(0, 3)
            elif self.scheduler.waiting:
                self.time(1.0)
            else:
                break
        assert all(known.ended for known in self.calls.values())
        assert self.scheduler.waiting == self.scheduler.running == 0
        again = Scheduler(infos(NAMES[:3]), (("balanced", 1.0),), SETTINGS, seed=7)
        for name, args, more, decisions in self.log:
            assert getattr(again, name)(*args, **more) == decisions


TestMachine = Machine.TestCase
TestMachine.settings = settings(
    max_examples=50,
    stateful_step_count=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


def test_what_a_call_costs_is_what_the_replica_says_in_the_end():
    scheduler = Scheduler(infos("ab"), (("balanced", 1.0),), SETTINGS)
    job = Job(1, 0.0, prompt_tokens=100, max_tokens=50, tenant="x")
    (sent,) = scheduler.arrived(job, 0.0)
    assert scheduler.tenants.of("x") > 100
    scheduler.finished(1, sent.replica, 7, 1.0)
    assert scheduler.tenants.of("x") == pytest.approx(cost(100, 7))
