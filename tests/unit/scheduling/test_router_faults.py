"""Ten faults that users of well-known routers reported, each as a whole kind."""

from collections import Counter
from math import inf
from random import Random

import msgspec
import pytest

from antiphon.scheduling.info import ReplicaInfo, Reported
from antiphon.scheduling.job import Dispatch, Refuse
from antiphon.scheduling.scheduler import Scheduler
from antiphon.scheduling.settings import LimitSettings, QueueSettings, SchedulerSettings
from antiphon.scheduling.simulator.troubles import Trouble, TroubledRun
from tests.unit.scheduling.fleets import busy, info, job, learn, prompt
from tests.unit.scheduling.gateways import Gateways
from tests.unit.scheduling.traffic import SPEC, at, chats, refused, request, run, times, waits

CACHE_AWARE = ("balanced", "prefix")


def scheduler(policy, replicas=4, settings=None, **more):
    made = Scheduler([info(f"r{place}", **more) for place in range(replicas)], ((policy, 1.0),), settings or SchedulerSettings())
    learn(made.fleet)
    return made


def sent(decisions):
    return [decision.replica for decision in decisions if isinstance(decision, Dispatch)]


@pytest.mark.parametrize("policy", CACHE_AWARE)
def test_31_a_prompt_that_nobody_knows_goes_where_there_is_least_to_do(policy):
    """Not to whoever holds the least, whatever its load."""
    made = scheduler(policy, settings=SchedulerSettings(queue=QueueSettings(backlog=60.0)))
    for root in range(3):
        made.fleet.replicas[root + 1].prefixes.sent(prompt(root, blocks=50).blocks)
    busy(made.fleet, 0, 3, prompt_tokens=3000)
    places = Counter(
        place for number in range(100, 112) for place in sent(made.arrived(prompt(number, number=number, blocks=1), 0.0))
    )
    assert places == {1: 4, 2: 4, 3: 4}


@pytest.mark.parametrize("policy", CACHE_AWARE)
def test_31_prompts_that_nobody_knows_are_spread_by_work_in_the_long_run(policy):
    rng = Random(5)
    calls = [
        request(
            number,
            number / 40,
            512 * (blocks := rng.randint(1, 20)),
            30,
            blocks=tuple(number * 100 + place for place in range(blocks)),
        )
        for number in range(1500)
    ]
    done = run(calls, policy=policy)
    work = [replica.served for replica in done.scheduler.fleet.replicas]
    assert max(work) < 1.3 * min(work)


@pytest.mark.parametrize("policy", CACHE_AWARE)
def test_32_one_hot_replica_does_not_switch_prefixes_off_for_the_others(policy):
    made = scheduler(policy, replicas=6)
    for root in range(6):
        made.fleet.replicas[root].prefixes.sent(prompt(root, blocks=30).blocks)
    for number in range(8):
        made.arrived(prompt(0, blocks=30, number=number), 0.0)
    assert made.fleet.replicas[0].calls >= 4, "the hot one"
    for root in range(1, 6):
        assert sent(made.arrived(prompt(root, blocks=30, number=100 + root), 0.0)) == [root]


def test_32_a_hot_prefix_spreads_and_everything_else_stays():
    """Half of all calls share one prompt; the other half are conversations that keep their replicas."""
    rng = Random(2)
    calls, turns = [], Counter()
    for number in range(3000):
        if number % 2:
            blocks = (*range(8), 10_000 + number)
        else:
            chat = rng.randrange(40)
            turns[chat] += 1
            blocks = tuple(1_000_000 + chat * 1000 + place for place in range(4 + min(8, turns[chat] // 4)))
        calls.append(request(number, number / 45, 512 * len(blocks), 40, blocks=blocks))
    done = run(calls)
    hot = [outcome for outcome in done.outcomes.values() if outcome.request.job.id % 2]
    rest = [outcome for outcome in done.outcomes.values() if not outcome.request.job.id % 2]
    for some in (hot, rest):
        cached = sum(outcome.cached_tokens for outcome in some) / sum(len(outcome.request.job.blocks) * 512 for outcome in some)
        assert cached > 0.8
    assert at(0.9, waits(done)) < 0.5


@pytest.mark.parametrize("policy", ["balanced", "prefix", "soonest", "least_tokens"])
def test_33_long_contexts_count_by_their_tokens(policy):
    made = scheduler(policy, replicas=2, settings=SchedulerSettings(queue=QueueSettings(backlog=60.0)))
    first = sent(made.arrived(job(0, 100_000), 0.0))
    places = [sent(made.arrived(job(number, 500), 0.0)) for number in range(1, 6)]
    assert all(place != first for place in places), "five short calls are less than one of 100,000 tokens"


def two_gateways(calls, poll_every):
    infos = [ReplicaInfo(f"r{place}", limits=LimitSettings(max_calls=SPEC.max_running)) for place in range(8)]
    done = TroubledRun(calls, [SPEC] * 8, infos, (("balanced", 1.0),), SchedulerSettings())
    done.set_troubles((), poll_every=poll_every)
    gateways = Gateways([Scheduler(infos, (("balanced", 1.0),), SchedulerSettings(), seed=seed) for seed in range(2)])
    done.scheduler = gateways  # type: ignore[assignment]
    done.go()
    return done


def test_34_gateways_that_see_half_of_the_load_each_count_the_other_half_by_what_replicas_tell():
    made = [scheduler("balanced", replicas=3) for _ in range(2)]
    for each in made:
        learn(each.fleet, slope=0.005)
    for number in range(12):
        made[0].arrived(job(number), 0.0)
    for replica in made[0].fleet.replicas:
        running = replica.calls + (3 if replica.index == 1 else 0)
        for each in made:
            each.metrics(replica.index, Reported(running, 0), 1.0)
    places = Counter(place for number in range(100, 104) for place in sent(made[1].arrived(job(number), 1.0)))
    assert 1 not in places, "the first gateway has as many there, and somebody else three more"


def test_34_two_gateways_are_nearly_as_good_as_one():
    calls = chats(6000, 26.0, seed=3)
    alone = run(calls)
    together = two_gateways(calls, poll_every=0.5)
    assert at(0.95, times(together)) < 1.15 * at(0.95, times(alone))


@pytest.mark.parametrize("policy", ["least_conn", "least_tokens", "soonest", "balanced", "prefix", "p2c"])
def test_35_stale_numbers_make_no_herd(policy):
    """One replica said that it was idle when all others were full; a burst comes before anybody says more."""
    made = scheduler(policy, replicas=5, limits=LimitSettings(max_calls=64, adaptive=False))
    for replica in made.fleet.replicas:
        made.metrics(replica.index, Reported(0 if replica.index == 2 else 6, 0), 0.0)
    made_places = Counter(place for number in range(50) for place in sent(made.arrived(job(number, 20), 0.5)))
    assert made_places[2] <= 20, made_places
    for number in range(50):
        for replica in made.fleet.replicas:
            if number in replica.out:
                made.finished(number, replica.index, 10, 1.0)
    later = Counter(place for number in range(100, 150) for place in sent(made.arrived(job(number, 20), 20.0)))
    assert max(later.values()) <= 17, "what was said twenty seconds ago is believed no more"


def greedy(seconds, *, greedy_too, others=0):
    """A modest tenant, ordinary ones, and one that sends prompts fifty times as long ten times as often."""
    streams = [("modest", 1.0, 1)] + [(f"ordinary {number}", 1.0, 1) for number in range(others)]
    if greedy_too:
        streams.append(("greedy", 10.0, 50))
    calls = []
    for place, (tenant, rate, length) in enumerate(streams):
        rng, moment = Random(place if tenant != "greedy" else 99), 0.0
        while (moment := moment + rng.expovariate(rate)) < seconds:
            tokens, output = int(length * rng.lognormvariate(5.7, 0.5)), int(rng.lognormvariate(4.6, 0.6))
            calls.append(request(0, moment, max(1, tokens), max(1, min(1000, output)), tenant=tenant))
    calls.sort(key=lambda call: call.job.arrived)
    return [msgspec.structs.replace(call, job=msgspec.structs.replace(call.job, id=number)) for number, call in enumerate(calls)]


@pytest.mark.parametrize("others", [0, 10])
def test_36_a_greedy_tenant_takes_no_time_from_others(others):
    before, after = (run(greedy(400, greedy_too=greedy_too, others=others)) for greedy_too in (False, True))
    assert at(0.95, times(after, "modest")) < 1.25 * at(0.95, times(before, "modest"))
    modest = [outcome for outcome in after.outcomes.values() if outcome.request.job.tenant != "greedy"]
    assert sum(bool(outcome.refused) for outcome in modest) == 0
    served = [outcome for outcome in after.outcomes.values() if outcome.request.job.tenant == "greedy" and outcome.finished]
    assert len(served) > 1000, "what is left is its own"


def test_37_loose_deadlines_are_served_although_tight_ones_never_end():
    rng = Random(4)
    calls = []
    for number in range(3000):
        loose = number % 10 == 0
        calls.append(request(number, number / 48, 1000, 100, target=600.0 if loose else rng.uniform(8.0, 12.0), tenant="one"))
    settings = SchedulerSettings(queue=QueueSettings(patience=10.0, shed_from=1.0))
    done = run(calls, settings=settings)
    waited = [
        outcome.first_token - outcome.request.job.arrived
        for outcome in done.outcomes.values()
        if outcome.request.job.id % 10 == 0 and outcome.first_token
    ]
    assert len(waited) > 250
    assert max(waited) < 30.0


@pytest.mark.parametrize("policy", ["balanced", "soonest", "p2c", "least_conn", "least_tokens", "weighted", "prefix"])
def test_38_fast_errors_draw_nobody(policy):
    """Half of one replica's calls fail after 20 ms, which no breaker opens for."""
    done = run(chats(2000, 15.0), policy=policy, troubles=(Trouble(2, "errors", share=0.5),))
    drawn = done.scheduler.fleet.replicas[2].served
    assert drawn < sum(replica.served for replica in done.scheduler.fleet.replicas) / 8, "less than its share"
    assert refused(done) < 0.005


def test_39_whoever_a_call_falls_back_to_is_cooled_down_too():
    made = scheduler("balanced", replicas=3)
    (first,) = made.arrived(job(1), 0.0)
    (second,) = made.failed(1, first.replica, 1.0, retry_after=30.0)
    assert isinstance(second, Dispatch)
    (third,) = made.failed(1, second.replica, 2.0, retry_after=20.0)
    assert isinstance(third, Dispatch)
    assert len({first.replica, second.replica, third.replica}) == 3
    for number in range(2, 4):
        assert sent(made.arrived(job(number), 3.0)) == [third.replica], "neither the first nor the one that it fell back to"
    last = made.failed(1, third.replica, 4.0, retry_after=40.0)
    assert isinstance(last[0], Refuse)
    (refusal,) = made.arrived(job(99), 5.0)
    assert (refusal.reason, refusal.retry_after) == ("no_replica", pytest.approx(17.0)), (
        "the seconds that the first of them has left"
    )
    made.tick(22.1)
    assert sent(made.arrived(job(100), 22.1)) == [second.replica]


def test_39_a_replica_that_cooled_down_is_asked_again():
    made = scheduler("balanced", replicas=1)
    made.arrived(job(1), 0.0)
    made.failed(1, 0, 0.0, retry_after=4.0)
    (refusal,) = made.arrived(job(2), 1.5)
    assert refusal.retry_after == pytest.approx(2.5)
    assert made.next_alarm() == pytest.approx(4.0)
    made.tick(4.0)
    assert sent(made.arrived(job(3), 4.0)) == [0]


class Counted(list):
    """Replicas that count how often one is looked at."""

    looks = 0

    def __getitem__(self, place):
        Counted.looks += 1
        return super().__getitem__(place)

    def __iter__(self):
        Counted.looks += len(self)
        return super().__iter__()


@pytest.mark.parametrize("policy", ["balanced", "prefix", "session", "p2c", "nearest", "consistent_hash"])
def test_40_the_work_of_a_call_does_not_grow_with_the_fleet(policy):
    looks = {}
    for size in (50, 800):
        made = scheduler(policy, replicas=size)
        made.fleet.replicas = Counted(made.fleet.replicas)
        Counted.looks = 0
        for number in range(400):
            (decision,) = made.arrived(prompt(number % 30, number=number, session=f"s{number % 30}"), number / 100)
            made.first_token(number, decision.replica, number / 100 + 0.001)
            if number % 7 == 0:
                made.failed(number, decision.replica, number / 100 + 0.002)
            else:
                made.finished(number, decision.replica, 5, number / 100 + 0.002)
            made.tick(number / 100 + 0.003)
        looks[size] = Counted.looks
    assert looks[800] <= 1.5 * looks[50]


@pytest.mark.parametrize("policy", CACHE_AWARE)
def test_40_holders_of_a_prefix_are_found_in_a_large_fleet(policy):
    made = scheduler(policy, replicas=500)
    homes = {}
    for root in range(40):
        (decision,) = made.arrived(prompt(root, blocks=20, number=root), 0.0)
        made.finished(root, decision.replica, 5, 0.1)
        homes[root] = decision.replica
    for root, home in homes.items():
        assert sent(made.arrived(prompt(root, blocks=22, number=1000 + root), 1.0 + root)) == [home]


def test_times_stay_finite():
    """The helpers above would hide a run that never answers."""
    assert at(0.5, times(run(chats(50, 5.0)))) < inf
