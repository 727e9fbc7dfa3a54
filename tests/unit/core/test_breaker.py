import msgspec
import pytest

from antiphon.core.breaker import Breaker
from antiphon.core.breaker_policy import FORGOTTEN_AFTER, BreakerPolicy, BreakerView

POLICY = BreakerPolicy()


def opened(now=100.0):
    breaker = Breaker()
    breaker.count(POLICY, 0, POLICY.minimum_calls, now)
    assert breaker.view(now) == BreakerView("open", 1, now + POLICY.open_for)
    return breaker


@pytest.mark.parametrize(
    ("successes", "failures", "state"),
    [(0, 3, "closed"), (0, 4, "open"), (2, 3, "open"), (41, 59, "closed"), (40, 60, "open"), (10, 0, "closed")],
)
def test_it_opens_at_the_failure_rate_of_enough_calls(successes, failures, state):
    breaker = Breaker()
    breaker.count(POLICY, successes, failures, 5.0)
    assert breaker.view(5.0).state == state


def test_an_outcome_counts_for_nine_to_ten_seconds_of_ten():
    for begun in (100.0, 100.5, 100.999):
        breaker = Breaker()
        breaker.count(POLICY, 0, 3, begun)
        assert breaker.recent(begun + 9.0) == (0, 3)
        assert breaker.recent(begun + 10.0) == (0, 0)


def test_successes_alone_never_open_it():
    breaker = Breaker()
    breaker.count(POLICY, 0, 3, 1.0)
    breaker.count(POLICY, 1, 0, 1.0)
    assert breaker.view(1.0).state == "closed"


@pytest.mark.parametrize(
    ("verdicts", "state"),
    [("+++", "closed"), ("--+++", "closed"), ("---", "open"), ("++---", "open"), ("++--", "half_open"), ("", "half_open")],
)
def test_trials_decide_as_soon_as_it_is_decided(verdicts, state):
    breaker, now = opened(), 130.0
    for number in range(len(verdicts)):
        assert breaker.acquire(POLICY, number, now)
    for number, verdict in enumerate(verdicts):
        breaker.conclude(POLICY, number, verdict == "+", now)
    assert breaker.view(now).state == state


def test_each_period_has_its_trials_and_no_more():
    breaker = opened()
    assert not breaker.acquire(POLICY, 1, 129.9)
    assert [breaker.acquire(POLICY, number, 130.0) for number in range(7)] == [True] * 5 + [False] * 2
    breaker.conclude(POLICY, 0, True, 131.0)
    assert not breaker.acquire(POLICY, 8, 131.0)
    breaker.conclude(POLICY, 1, None, 131.0)
    assert breaker.acquire(POLICY, 9, 131.0)
    assert breaker.retry_after(131.0) == 29.0
    assert breaker.acquire(POLICY, 10, 160.0)
    breaker.conclude(POLICY, 2, False, 160.0)
    assert breaker.view(160.0).state == "half_open"


def test_what_others_know_counts_if_it_is_later():
    breaker = opened()
    breaker.restore(BreakerView("half_open", 1, 0.0))
    assert breaker.view(100.0).state == "open"
    breaker.restore(BreakerView("open", 7, 150.0))
    assert breaker.view(149.0) == BreakerView("open", 7, 150.0)
    assert breaker.view(150.0) == BreakerView("half_open", 8, 150.0)


def test_it_is_idle_when_it_says_nothing():
    breaker = Breaker()
    assert breaker.idle(0.0)
    breaker.count(POLICY, 1, 0, 0.0)
    assert not breaker.idle(1.0)
    assert breaker.idle(11.0)
    breaker = opened()
    assert not breaker.idle(131.0)
    assert breaker.idle(130.0 + FORGOTTEN_AFTER)


@pytest.mark.parametrize(("recovery", "trials", "needed"), [(0.6, 5, 3), (1.0, 5, 5), (0.01, 5, 1), (0.7, 10, 7), (0.6, 1, 1)])
def test_needed_trials(recovery, trials, needed):
    assert BreakerPolicy(recovery=recovery, trials=trials).needed == needed


@pytest.mark.parametrize("wrong", [{"window": 0}, {"failure_rate": 1.1}, {"trials": 0}, {"minimum_calls": 0}, {"recovery": 0}])
def test_a_policy_that_is_none_is_refused(wrong):
    fields = dict(zip(BreakerPolicy.__struct_fields__, msgspec.to_builtins(POLICY), strict=True)) | wrong
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(list(fields.values()), BreakerPolicy)
