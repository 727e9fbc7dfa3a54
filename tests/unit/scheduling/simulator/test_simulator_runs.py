"""A run loses no call, repeats itself under the same seed, and its figures are what they are called."""

from math import inf
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.scheduling.choice import POLICIES
from antiphon.scheduling.job import Job
from antiphon.scheduling.settings import DegradeSettings, QueueSettings, SchedulerSettings
from antiphon.scheduling.simulator.driver import Outcome, Request, Run, Watch
from antiphon.scheduling.simulator.figures import figures_of, percentile
from antiphon.scheduling.simulator.replica import ReplicaSpec
from antiphon.scheduling.simulator.scenario import Call, Callers, ReplicaGroup, Scenario
from antiphon.scheduling.simulator.study import Study, written

SPEC = ReplicaSpec(20_000, 10, 0.2, 0.02, max_running=4, kv_blocks=60)
FIFO, OURS = (("fifo", 1.0),), (("soonest", 1.0),)


def scenario(**callers) -> Scenario:
    wanted = {"target": 8.0, "patience": 6.0, "tiers": (0.2, 0.5, 0.3), **callers}
    return Scenario((ReplicaGroup(2, SPEC),), Callers(**wanted), SchedulerSettings(queue=QueueSettings(max_wait=(5.0, 3.0, 1.0))))


def traffic(seed: int, calls: int, rate: float) -> list[Call]:
    rng, at, made = Random(seed), 0.0, []
    for number in range(calls):
        made.append(Call(at, rng.randrange(1, 4000), rng.randrange(1, 200), (number % 5,), f"t{number % 3}"))
        at += rng.expovariate(rate)
    return made


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1000), st.sampled_from([0.5, 4.0, 30.0]), st.sampled_from(POLICIES.names()))
def test_every_call_is_answered_refused_or_given_up_and_only_one_of_these(seed, rate, policy):
    run = Study(traffic(seed, 60, rate), scenario(), seed).run(((policy, 1.0),), 1.0)
    for outcome in run.outcomes.values():
        assert [outcome.finished > 0, bool(outcome.refused), outcome.left].count(True) == 1
        assert outcome.ended > outcome.request.job.arrived or outcome.refused
        if outcome.finished:
            assert outcome.request.job.arrived < outcome.first_token <= outcome.finished
    assert all(replica.running + replica.waiting == 0 for replica in run.replicas)
    assert run.scheduler.waiting == 0


@pytest.mark.parametrize("policy", ["soonest", "fifo", "round-robin", "least-tokens"])
def test_the_same_seed_decides_the_same_and_another_one_does_not(policy):
    calls = traffic(1, 300, 12.0)

    def outcomes(seed: int) -> list[Outcome]:
        return list(Study(calls, scenario(), seed).run(((policy, 1.0),), 1.0).outcomes.values())

    assert outcomes(3) == outcomes(3)
    assert outcomes(3) != outcomes(4)


def test_watching_a_run_changes_nothing():
    calls = traffic(2, 200, 10.0)
    study = Study(calls, scenario(), 0)
    watched, series = study.figures_and_series(OURS, 1.0)
    assert watched == study.figures(OURS, 1.0)
    assert {len(getattr(series, name)) for name in ("at", "waiting", "utilisation", "ttft_p50", "ttft_p90", "missed")} == {
        len(series.at)
    }
    assert all(share is not None and 0 <= share <= 1.000001 for share in (*series.utilisation, *series.occupancy))
    assert any(series.waiting)
    missed = sum((share or 0) > 0 for share in series.missed)
    assert missed > 0


def done(number: int, arrived: float, first: float, finished: float, **more) -> Outcome:
    job = {"id": number, "arrived": arrived, "prompt_tokens": 100, "max_tokens": 100, "tier": 0, "tenant": "a"}
    request = Request(Job(**{**job, **more.pop("job", {})}), more.pop("output", 50), more.pop("target", 2.0))
    return Outcome(request, first, finished, ended=finished, **more)


def test_what_each_figure_is():
    run = Run([], [SPEC] * 2, scenario().infos(adaptive=False), FIFO, SchedulerSettings())
    outcomes = [
        done(1, 10.0, 10.5, 11.0, cached_tokens=50),
        done(2, 10.0, 11.0, 13.0),  # too late
        done(3, 10.0, 0.0, 0.0, job={"tier": 1, "tenant": "b"}, refused="late"),
        done(4, 10.0, 0.0, 0.0, job={"tier": 1, "tenant": "b"}, left=True),
        done(5, 10.0, 12.0, 20.0, output=350, job={"tier": 2, "tenant": "b"}, target=20.0),
    ]
    outcomes[4].request = Request(outcomes[4].request.job, 350, 20.0, feasible=False)
    run.outcomes = {outcome.request.job.id: outcome for outcome in outcomes}
    run.now = 20.0
    figures = figures_of(run, "fifo", 2.0, 7)
    assert (figures.calls, figures.seconds) == (5, 10.0)
    assert figures.targets_met == {"P0": 0.5, "P1": 0.0, "P2": 1.0}
    assert (figures.all_met, figures.feasible, figures.feasible_met) == (0.4, 0.8, 0.25)
    assert (figures.refused, figures.left) == (0.2, 0.2)
    assert (figures.refused_work, figures.left_work) == (200 / 1600, 200 / 1600)  # prompt tokens and twice the answer's
    assert (figures.ttft_p50_ms, figures.ttft_p99_ms, figures.total_p50_ms, figures.total_p99_ms) == (1000, 2000, 3000, 10_000)
    assert figures.goodput == 0.2
    assert figures.cost == 2 * 10.0 / 2 * 1000
    assert figures.hit_rate == round(50 / 300, 6)
    shares = (1.0, 800 / 1200)  # of what each tenant asked for
    assert figures.fairness == pytest.approx(sum(shares) ** 2 / (2 * sum(share**2 for share in shares)), abs=1e-6)
    assert (figures.refusals, figures.utilisation) == ({"late": 1}, 0.0)


def test_utilisation_is_the_share_of_the_time_in_which_replicas_compute():
    one = Study([Call(0.0, 1000, 10), Call(10.0, 1000, 10)], scenario()).figures(FIFO, 1.0)
    alone = SPEC.idle_time(1000, 10)
    assert one.seconds == pytest.approx(10 + alone, abs=1e-3)
    assert one.utilisation == pytest.approx(2 * alone / (2 * (10 + alone)), abs=1e-4)
    assert one.occupancy == pytest.approx(one.utilisation / SPEC.max_running, abs=1e-5)


def test_a_run_without_calls_has_figures_too():
    run = Run([], [SPEC], scenario().infos(adaptive=False)[:1], FIFO, SchedulerSettings())
    run.go()
    assert figures_of(run, "fifo", 1.0, 0).ttft_p50_ms is None


@pytest.mark.parametrize(("percent", "value"), [(1, 1), (50, 5), (90, 9), (99, 10), (100, 10)])
def test_percentiles_are_of_the_nearest_rank(percent, value):
    assert percentile(range(1, 11), percent) == value


def test_a_plain_queue_refuses_nobody_and_knows_no_hedges():
    calls = traffic(3, 200, 50.0)
    study = Study(calls, scenario(patience=1e6), 0)
    outcomes = study.run(FIFO, 1.0).outcomes.values()
    assert all(outcome.finished and outcome.replicas == 1 for outcome in outcomes)
    assert study.figures(OURS, 1.0).refused > 0


def test_a_degraded_call_is_a_miss_and_no_refusal():
    calls = traffic(3, 200, 50.0)
    degrading = SchedulerSettings(
        queue=QueueSettings(max_wait=(5.0, 3.0, 1.0)), degrade=DegradeSettings(model=True, when_busy=True)
    )
    made = Scenario((ReplicaGroup(2, SPEC),), Callers(target=8.0, patience=6.0), degrading)
    run = Study(calls, made, 0).run(OURS, 1.0)
    figures = figures_of(run, "soonest", 1.0, 0)
    assert figures.degraded > 0
    assert (figures.refused, figures.refusals) == (0.0, {})
    for outcome in run.outcomes.values():
        assert [outcome.finished > 0, bool(outcome.degraded), outcome.left].count(True) == 1
        assert not (outcome.degraded and outcome.met)
    assert figures.all_met <= 1 - figures.degraded


def test_what_no_idle_replica_does_in_time_is_not_feasible():
    calls = [Call(0.0, 25_000, 1), Call(0.0, 10, 10), Call(0.0, 2_000_000, 1)]
    strict = scenario(longest_target=1.0)
    assert [request.feasible for request in strict.requests(calls, 1.0, 0)] == [False, True, False]
    assert [request.feasible for request in scenario().requests(calls, 1.0, 0)] == [True, True, False]


def test_tiers_and_tenants_are_drawn_by_the_seed_whatever_the_load():
    many = scenario(tenants=4)
    calls = [Call(float(number), 10, 10) for number in range(2000)]
    slow, fast = many.requests(calls, 1.0, 5), many.requests(calls, 8.0, 5)
    assert [(each.job.tier, each.job.tenant) for each in slow] == [(each.job.tier, each.job.tenant) for each in fast]
    assert [each.job.arrived for each in fast] == [number / 8 for number in range(2000)]
    shares = [sum(each.job.tier == tier for each in slow) / 2000 for tier in range(3)]
    assert shares == pytest.approx([0.2, 0.5, 0.3], abs=0.04)
    assert len({each.job.tenant for each in slow}) == 4


def test_the_load_at_which_a_share_of_the_targets_is_met():
    study = Study(traffic(4, 400, 3.0), scenario())
    load = study.load_where(FIFO, 0.7)
    assert load is not None
    assert study.figures(FIFO, load).all_met == pytest.approx(0.7, abs=0.02)
    impossible = Study([Call(0.0, 2_000, 50)] * 3, scenario(target=0.5))
    assert impossible.load_where(FIFO, 0.7) is None


def test_a_policy_as_a_user_writes_it():
    assert written(OURS) == "soonest"
    assert written((("soonest", 2.0), ("weighted", 1.0))) == "soonest:2+weighted:1"


def test_the_scheduler_is_measured_by_the_clock_that_it_is_given():
    ticks = iter(range(10**9))
    run = Run(
        scenario().requests(traffic(1, 20, 1.0), 1.0, 0),
        [SPEC] * 2,
        scenario().infos(adaptive=False),
        FIFO,
        SchedulerSettings(),
        watch=Watch(inf, lambda: float(next(ticks))),
    )
    run.go()
    assert run.seconds_deciding == run.events > 60
