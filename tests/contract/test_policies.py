"""What every policy keeps to, those of other packages included."""

from math import isfinite
from random import Random

import pytest

from antiphon.scheduling.choice import NOMINEES, POLICIES, SAMPLE, Choice, named
from antiphon.scheduling.info import Reported
from antiphon.scheduling.job import Dispatch, Job
from antiphon.scheduling.scheduler import Scheduler
from antiphon.scheduling.settings import SchedulerSettings
from tests.unit.scheduling.fleets import busy, fleet, info, job, learn, prompt, situation

NAMES = POLICIES.names()
HOME = ("h0", "r0", "eu")


def lively():
    """A fleet in which everything differs."""
    of = fleet(*(info(f"r{place}", weight=1.0 + place, region="eu" if place % 2 else "us", host=f"h{place}") for place in range(7)))
    learn(of)
    for place, replica in enumerate(of.replicas[1:]):
        busy(of, replica.index, place, prompt_tokens=300 * place + 1)
        replica.felt(0.3 * place, 0.0)
        replica.told(Reported(place * 2, place), 0.0)
        replica.prefixes.sent(prompt(place, blocks=place + 1).blocks)
    of.replicas[5].failed(next(iter(of.replicas[5].out.values())), 0.5)
    return of


JOBS = [
    job(1),
    job(2, tenant="t", session="s", region="us", tier=0),
    prompt(3, blocks=9, number=3, session="s"),
    prompt(77, blocks=2, number=4, realtime=True),
    job(5, prompt=0),
]


def told(replica):
    """Everything that could be changed of a replica."""
    return (
        dict(replica.out), replica.calls, replica.prefill_tokens, replica.tokens, replica.answers, replica.served, replica.awaited,
        replica.latency(1.0), replica.failures(1.0), replica.load(1.0), len(replica.prefixes), replica.limit.value,
        replica.speed.first_token(1000), replica.speed.per_token(4), replica.breaker.view(1.0),
    )  # fmt: skip


@pytest.fixture(params=NAMES)
def policy(request):
    return named(request.param)


@pytest.mark.parametrize("what", JOBS, ids=lambda what: str(what.id))
@pytest.mark.parametrize("count", [1, 2, 7])
def test_it_scores_each_replica_between_nothing_and_everything(policy, what, count):
    of = lively()
    for target in (0.1, 5.0, float("inf")):
        scores = policy.score(what, of.replicas[:count], situation(of, now=1.0, target=target, home=HOME), Random(3))
        assert len(scores) == count
        assert all(isfinite(score) and 0 <= score <= 1 for score in scores)


@pytest.mark.parametrize("what", JOBS, ids=lambda what: str(what.id))
def test_it_changes_nothing(policy, what):
    of = lively()
    before = [told(replica) for replica in of.replicas]
    policy.nominate(what, situation(of, now=1.0, home=HOME))
    policy.score(what, of.replicas, situation(of, now=1.0, home=HOME), Random(3))
    assert [told(replica) for replica in of.replicas] == before


@pytest.mark.parametrize("what", JOBS, ids=lambda what: str(what.id))
def test_it_draws_chance_from_nowhere_else(policy, what):
    of = lively()
    first, second = (policy.score(what, of.replicas, situation(of, now=1.0, home=HOME), Random(3)) for _ in range(2))
    assert list(first) == list(second)


def test_it_says_what_it_does_and_how_calls_wait(policy):
    assert policy.title
    assert policy.queue in {"deadline", "fifo", "none"}


def test_it_works_before_anything_is_known(policy):
    of = fleet("a", "b", "c")
    scores = policy.score(job(), of.replicas, situation(of), Random(1))
    assert len(scores) == 3
    assert max(scores) > 0


class Counting:
    """Counts how many replicas a decision looks at."""

    def __init__(self, replicas):
        self.replicas = replicas
        self.looks = 0

    def __len__(self):
        return len(self.replicas)

    def __getitem__(self, place):
        self.looks += 1
        return self.replicas[place]

    def __iter__(self):
        raise AssertionError("it looks at the whole fleet")


@pytest.mark.parametrize("name", NAMES)
def test_a_decision_looks_at_no_more_replicas_in_a_larger_fleet(name):
    looks = {}
    for size in (64, 512):
        scheduler = Scheduler(
            [info(f"r{place}", host="h0") for place in range(size)], ((name, 1.0),), SchedulerSettings(), home=HOME
        )
        for number in range(200):
            scheduler.arrived(prompt(number % 7, number=number, session=f"s{number % 5}"), number / 100)
        counting = Counting(scheduler.fleet.replicas)
        scheduler.fleet.replicas = counting  # type: ignore[assignment]
        for number in range(200, 260):
            (sent,) = scheduler.arrived(prompt(number % 7, number=number, session=f"s{number % 5}"), number / 100)
            assert isinstance(sent, Dispatch)
        looks[size] = counting.looks
    assert looks[512] <= looks[64] * 1.2
    assert looks[512] <= 60 * (SAMPLE + NOMINEES + 6)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_decides_the_same(name):
    def decisions(seed):
        scheduler = Scheduler([info(f"r{place}") for place in range(40)], ((name, 1.0),), SchedulerSettings(), seed=seed)
        found = []
        for number in range(120):
            found += scheduler.arrived(prompt(number % 9, number=number, session=f"s{number % 11}"), number / 50)
            if number % 3 == 0 and found:
                done = found[len(found) // 2]
                found += scheduler.finished(done.job.id, done.replica, 5, number / 50)
        return found

    assert decisions(4) == decisions(4)


@pytest.mark.parametrize("name", NAMES)
def test_it_never_leaves_a_fleet_idle(name):
    """Whatever it likes: while a replica has room, nobody waits."""
    scheduler = Scheduler([info(f"r{place}") for place in range(5)], ((name, 1.0),), SchedulerSettings())
    sent = [decision for number in range(20) for decision in scheduler.arrived(Job(number, 0.0, 100, 50, session="one"), 0.0)]
    assert len(sent) == 20


class Bad:
    title = "misbehaves"
    queue = "deadline"

    def __init__(self, answer):
        self.answer = answer

    def nominate(self, job, situation):
        return self.answer(())

    def score(self, job, replicas, situation, rng):
        return self.answer(replicas)


def raises(replicas):
    raise RuntimeError("no")


@pytest.mark.parametrize(
    ("answer", "faults"),
    [
        (raises, 2),
        (lambda replicas: [1.0], 1),
        (lambda replicas: [1.0] * 99, 1),
        (lambda replicas: [float("nan")] * len(replicas), 0),
    ],
    ids=["raises", "too few", "too many", "no numbers"],
)
def test_one_that_misbehaves_has_no_say_and_stops_nothing(monkeypatch, answer, faults):
    monkeypatch.setitem(POLICIES._loaded, "bad", Bad(answer))
    of = fleet("a", "b", "c")
    busy(of, 0, 2)
    busy(of, 2, 2)
    ticks = iter(range(1000))
    choice = Choice((("bad", 5.0), ("least_conn", 1.0)), Random(1), lambda: float(next(ticks)))
    replicas = choice.candidates(job(), of.open, situation(of))
    chosen, reasons = choice.pick(job(), replicas, situation(of))
    assert chosen.index == 1
    assert dict(reasons.scores)["bad"] == 0
    totals = dict(zip(reasons.candidates, reasons.totals, strict=True))
    assert list(totals) == [replica.index for replica in replicas]
    assert max(totals, key=lambda index: totals[index]) == 1
    conduct = choice.conduct["bad"]
    assert conduct.calls == 1
    assert conduct.spent == 2, "one tick for each of the two questions"
    assert conduct.faults == faults


def test_scores_outside_are_cut_off(monkeypatch):
    monkeypatch.setitem(POLICIES._loaded, "bad", Bad(lambda replicas: [99.0, *[-5.0] * (len(replicas) - 1)]))
    of = fleet("a", "b")
    chosen, reasons = Choice((("bad", 1.0), ("least_conn", 1.0)), Random(1)).pick(job(), of.replicas, situation(of))
    assert chosen.index == 0
    assert dict(reasons.scores)["bad"] == 1
