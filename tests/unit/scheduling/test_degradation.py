"""When calls go down to something lighter, and when they come back."""

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from antiphon.core.breaker_policy import BreakerPolicy
from antiphon.scheduling.degradation import DENSITY, Degradation, Recent
from antiphon.scheduling.info import ReplicaInfo
from antiphon.scheduling.job import Degrade, Dispatch, Job, Refuse
from antiphon.scheduling.scheduler import Scheduler
from antiphon.scheduling.settings import DegradeSettings, LimitSettings, QueueSettings, RetrySettings, SchedulerSettings
from tests.unit.scheduling.fleets import learn

ONCE = RetrySettings(attempts=1)
BOTH = DegradeSettings(model=True, template=True, probe=0.0)
WINDOW = 10.0


def job(number=1, arrived=0.0, **more):
    return Job(number, arrived, 100, 50, **more)


def told(good, bad, settings=BOTH, now=0.0):
    """A degradation that was told of so many calls."""
    made = Degradation(settings, WINDOW)
    for ok in [True] * good + [False] * bad:
        made.saw(ok, now)
    return made


def way(made, now=0.0, **more):
    """What the next call that is no probe is told."""
    made._probed = now
    decision = made.at_entry(job(**more), now)
    return decision.way if decision is not None else "main"


@pytest.mark.parametrize(
    ("good", "bad", "expected"),
    [
        (100, 0, "main"),
        (95, 5, "main"),  # 95 % is the main model's
        (94, 6, "model"),
        (80, 20, "model"),  # 80 % is the lighter one's
        (79, 21, "template"),
        (0, 100, "template"),
        (0, 9, "main"),  # too few to tell
        (8, 2, "model"),
    ],
)
def test_the_score_says_what_answers(good, bad, expected):
    made = told(good, bad)
    assert way(made) == expected
    assert made.score(0.0) == (good / (good + bad) if good + bad >= 10 else 1.0)


@pytest.mark.parametrize(
    ("settings", "at_90", "at_50"),
    [
        (DegradeSettings(model=True), "model", "model"),
        (DegradeSettings(template=True), "main", "template"),
        (DegradeSettings(), "main", "main"),
        (DegradeSettings(model=True, template=True, below=0.6, template_below=0.0), "main", "model"),
    ],
)
def test_what_a_route_does_not_name_does_not_answer(settings, at_90, at_50):
    assert way(told(90, 10, settings)) == at_90
    assert way(told(50, 50, settings)) == at_50


def test_what_no_text_can_answer_goes_to_the_lighter_model_or_stays():
    assert way(told(0, 20), takes_text=False) == "model"
    assert way(told(0, 20, DegradeSettings(template=True)), takes_text=False) == "main"


def test_the_way_back_up_takes_more_than_the_way_down():
    made = told(94, 6)
    assert way(made) == "model"
    for _ in range(46):  # 140 of 146: 95.9 %, which is above 95 and below 97
        made.saw(True, 1.0)
    assert way(made, 1.0) == "model"
    for _ in range(60):
        made.saw(True, 1.0)
    assert way(made, 1.0) == "main"
    assert way(told(140, 6), 0.0) == "main", "on the way down it would be well enough"


def test_from_the_template_it_goes_up_step_by_step():
    made = told(50, 50)
    assert way(made) == "template"
    for _ in range(155):  # 205 of 255: 80.4 %
        made.saw(True, 1.0)
    assert way(made, 1.0) == "template"
    for _ in range(100):  # 305 of 355: 85.9 %
        made.saw(True, 1.0)
    assert way(made, 1.0) == "model"


def test_calls_that_left_the_window_count_no_more():
    made = told(0, 50)
    for _ in range(20):
        made.saw(True, 11.0)
    assert made.score(11.0) == 1.0
    assert way(made, 11.0) == "main"


def test_what_was_known_last_holds_for_one_more_window():
    made = told(0, 50)
    assert way(made, 5.0) == "template"
    assert (way(made, 12.0), made.score(12.0)) == ("template", 0.0), "nothing in the window, and nothing better is known"
    assert (way(made, 15.1), made.score(15.1)) == ("main", 1.0), "ten seconds after the last time that there was enough"


def test_a_share_of_the_calls_still_goes_to_the_main_model():
    made = told(0, 1000, DegradeSettings(model=True, probe=0.05))
    fast = [made.at_entry(job(number), number / 10_000) for number in range(1000)]  # for a tenth of a second
    assert fast.count(None) == pytest.approx(50, abs=2)


def test_few_calls_are_tried_often_enough_to_tell():
    made = told(0, 1000, DegradeSettings(model=True, probe=0.0))
    times = [number * 0.05 for number in range(200)]  # ten seconds
    tried = [now for now in times if made.at_entry(job(), now) is None]
    assert len(tried) == pytest.approx(DENSITY * 10, abs=2)


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 5)), max_size=200))
@examples(deadline=None)
def test_a_window_forgets_what_is_older_and_keeps_what_is_younger(calls):
    """Against a list of all calls: nine tenths of the window are always kept, and nothing beyond it."""
    recent, now, all_calls = Recent(WINDOW), 0.0, []
    for ok, pause in calls:
        now += pause
        recent.count(ok, now)
        all_calls.append((ok, now))
        good, bad = recent.calls(now)
        for number, wanted in ((good, True), (bad, False)):
            ages = [now - at for ok, at in all_calls if ok is wanted]
            assert sum(age < 0.9 * WINDOW - 1e-6 for age in ages) <= number <= sum(age < WINDOW + 1e-6 for age in ages)


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 2)), max_size=300), st.floats(0, 1), st.floats(0, 1))
@examples(deadline=None)
def test_every_answer_fits_its_score(calls, one, other):
    low, high = sorted((one, other))
    made = Degradation(DegradeSettings(model=True, template=True, below=high, template_below=low), WINDOW)
    now = 0.0
    for ok, pause in calls:
        now += pause
        made.saw(ok, now)
        decision, score = made.at_entry(job(), now), made.score(now)
        assert 0 <= score <= 1
        if decision is not None:
            assert decision.score == score
            assert score < min(1.0, (low if decision.way == "template" else high) + 0.02)
    assert sum(made.degraded.values()) <= len(calls)


# -- with a scheduler


def scheduler(replicas=1, calls=64, degrade=BOTH, **settings):
    infos = [ReplicaInfo(f"r{place}", limits=LimitSettings(calls, 1, adaptive=False)) for place in range(replicas)]
    return Scheduler(infos, (("least-tokens", 1.0),), SchedulerSettings(degrade=degrade, retries=ONCE, **settings))


def fail(made, number, now, **more):
    """One call that its replica fails; what becomes of it."""
    (decision,) = made.arrived(job(number, now), now)
    if isinstance(decision, Dispatch):
        (decision,) = made.failed(number, decision.replica, now, **more)
    return decision


def test_a_call_that_failed_goes_down_and_one_that_is_wrong_does_not():
    lost, wrong = fail(scheduler(2), 1, 0.0), fail(scheduler(2), 1, 0.0, retryable=False, blame=False)
    assert (type(lost), lost.way, lost.reason) == (Degrade, "model", "failed")
    assert (type(wrong), wrong.reason) == (Refuse, "failed")


def test_what_is_counted_as_refused():
    made = scheduler(degrade=DegradeSettings(), breaker=BreakerPolicy(minimum_calls=2))
    fail(made, 1, 0.0, retryable=False, blame=False)
    assert made.state("m", 0.0).refused == {}, "what is wrong in itself was not refused by the route"
    for number in (2, 3, 4):
        fail(made, number, 0.0)
    assert made.state("m", 0.0).refused == {"failed": 2, "no_replica": 1}


def test_a_call_that_had_begun_does_not_go_down():
    made = scheduler()
    made.arrived(job(1), 0.0)
    made.first_token(1, 0, 1.0)
    (refusal,) = made.failed(1, 0, 2.0)
    assert isinstance(refusal, Refuse)


def test_while_all_replicas_rest_the_lighter_model_answers():
    made = scheduler()
    assert fail(made, 1, 0.0, blame=False, retry_after=60.0).way == "model"
    (decision,) = made.arrived(job(2), 1.0)
    assert (decision.way, decision.reason, decision.score) == ("model", "no_replica", 1.0)


def test_where_all_breakers_are_open_the_score_is_nought():
    made = scheduler(breaker=BreakerPolicy(minimum_calls=2))
    assert [fail(made, number, 0.0).reason for number in range(3)] == ["failed", "failed", "no_replica"]
    (decision,) = made.arrived(job(9), 1.0)
    assert (decision.way, decision.reason, decision.score) == ("template", "no_replica", 0.0)
    (decision,) = made.arrived(job(10, takes_text=False), 1.0)
    assert decision.way == "model"
    assert made.state("m", 1.0).degraded == {"failed": 2, "no_replica": 3}


@pytest.mark.parametrize(("when_busy", "kind"), [(True, Degrade), (False, Refuse)])
def test_what_cannot_be_on_time_goes_down_where_the_route_says_so(when_busy, kind):
    made = scheduler(calls=1, degrade=DegradeSettings(model=True, when_busy=when_busy), queue=QueueSettings(max_waiting=1))
    learn(made.fleet, pace=0.1)
    made.arrived(job(1), 0.0)
    made.arrived(job(2, deadline=8.0), 0.0)
    (full,) = made.arrived(job(3, deadline=9.0), 0.0)
    (late,) = made.finished(1, 0, 10, 7.9)
    assert [(type(each), each.reason) for each in (full, late)] == [(kind, "queue_full"), (kind, "late")]
    assert (made.waiting, made.running) == (0, 0), "what went down is held no more"
    state = made.state("m", 8.0)
    assert (state.degraded if when_busy else state.refused) == {"queue_full": 1, "late": 1}
    assert not (state.refused if when_busy else state.degraded)


def test_a_sick_route_degrades_and_recovers_by_its_probes():
    """Failing every third call, then none: half a minute later all calls are the main model's again."""
    made = scheduler(8, degrade=DegradeSettings(model=True, template=True), breaker=BreakerPolicy(failure_rate=1.0))
    answered = {"main": [], "model": [], "template": []}
    for number in range(9000):
        now = number / 100
        decisions = made.arrived(job(number, now), now)
        if isinstance(decisions[-1], Degrade):
            answered[decisions[-1].way].append(now)
            continue
        answered["main"].append(now)
        if now < 30 and number % 3 == 0:
            made.failed(number, decisions[-1].replica, now, retryable=False)
        else:
            made.finished(number, decisions[-1].replica, 5, now)
    down = answered["model"] + answered["template"]
    assert min(down) < 1
    assert max(down) < 60
    assert max(answered["template"]) < 45
    sick = sum(10 < now < 30 for now in answered["main"]) / 2000
    assert 0.03 < sick < 0.08, "one in twenty is tried"
    assert made.state("m", 90.0).health == 1.0


def test_other_settings_change_the_way_at_once():
    made = scheduler(breaker=BreakerPolicy(minimum_calls=100))
    for number in range(20):
        fail(made, number, 0.0)
    (decision,) = made.arrived(job(50), 0.1)
    assert isinstance(decision, Degrade)
    made.reconfigure(
        [ReplicaInfo("r0", limits=LimitSettings(64, 1, adaptive=False))],
        (("least-tokens", 1.0),),
        SchedulerSettings(breaker=BreakerPolicy(minimum_calls=100)),
        0.2,
    )
    (decision,) = made.arrived(job(51), 0.3)
    assert isinstance(decision, Dispatch)
