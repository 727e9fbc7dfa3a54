"""What is learned of speeds, lengths, limits and waits, and how much may be tried twice."""

from math import inf

import pytest

from antiphon.scheduling.hedging import Waits
from antiphon.scheduling.lengths import PRIOR, Lengths
from antiphon.scheduling.limits import AdaptiveLimit
from antiphon.scheduling.retries import Budget
from antiphon.scheduling.settings import LimitSettings
from antiphon.scheduling.speed import FEW, OUTLIER, Drain, Speed


def test_a_replica_is_like_its_fleet_until_it_has_shown_how_it_is():
    typical = Speed()
    others, slow = Speed(typical), Speed(typical)
    for _ in range(50):
        others.saw_first_token(1000, 0.1)
    for _ in range(FEW - 1):
        slow.saw_first_token(1000, 0.2)
    assert slow.first_token(1000) == typical.first_token(1000)
    slow.saw_first_token(1000, 0.2)
    assert slow.first_token(1000) == pytest.approx(0.2)


def test_one_sick_replica_does_not_become_the_measure():
    typical = Speed()
    well, sick = Speed(typical), Speed(typical)
    for number in range(300):
        (sick if number % 8 == 7 else well).saw_first_token(1000, 100.0 if number % 8 == 7 else 0.1)
        (sick if number % 8 == 7 else well).saw_tokens(4.0, 10.0 if number % 8 == 7 else 0.01)
    assert typical.first_token(1000) < 0.1 * OUTLIER
    assert typical.per_token(4.0) < 0.01 * OUTLIER
    assert sick.first_token(1000) > 90


def test_when_everything_becomes_slower_that_is_learned():
    typical = Speed()
    for _ in range(50):
        typical.saw_first_token(1000, 0.1)
    for _ in range(300):
        typical.saw_first_token(1000, 5.0)
    assert typical.first_token(1000) > 4


def test_the_pace_of_tokens_follows_the_number_that_run():
    speed = Speed()
    for running in [1, 5, 10, 3, 8] * 20:
        speed.saw_tokens(running, 0.01 + 0.002 * running)
    assert speed.per_token(20) == pytest.approx(0.05, rel=0.05)
    assert speed.answer(0.0, 11, 1) == pytest.approx(0.12, rel=0.1)


def test_nothing_known_is_no_time():
    assert Speed().first_token(1000) == 0
    assert Speed().per_token(3) == 0
    assert Drain().seconds(1000) == 0


def test_how_fast_waiting_work_goes_is_learned_while_calls_wait():
    drain = Drain()
    for tenth in range(200):
        drain.sent(800, 100, tenth / 10, waiting=True)
    assert drain.seconds(10_000) == pytest.approx(1.0, rel=0.1)
    before = drain.seconds(10_000)
    for tenth in range(200, 300):
        drain.sent(1, 1, tenth / 10, waiting=False)
    assert drain.seconds(10_000) == before, "what is sent while nobody waits says nothing"


def test_answers_are_as_long_as_those_before_and_no_longer_than_they_may_be():
    lengths = Lengths()
    assert lengths.expected("a", inf) == PRIOR
    for _ in range(100):
        lengths.learn("a", 10)
        lengths.learn("b", 1000)
    assert lengths.expected("a", inf) == pytest.approx(10, rel=0.1)
    assert lengths.expected("b", inf) == pytest.approx(1000, rel=0.1)
    assert 10 < lengths.expected("new", inf) < 1000
    assert lengths.expected("new", 20) == pytest.approx(10, rel=0.1), "of those that are no longer than twenty"
    assert lengths.expected("b", 5) <= 5


def test_a_limit_falls_when_tokens_come_slower_and_rises_again():
    limit = AdaptiveLimit(LimitSettings(max_calls=100, min_calls=4))
    for _ in range(500):
        limit.saw(0.01, 90)
    assert limit.value == 100
    for _ in range(30):
        limit.saw(0.2, int(limit.value))
    low = limit.value
    assert low < 60
    for _ in range(500):
        limit.saw(0.01, int(limit.value))
    assert limit.value > low


def test_a_limit_is_changed_at_run_time():
    limit = AdaptiveLimit(LimitSettings(max_calls=100))
    limit.settings = LimitSettings(max_calls=20)
    assert limit.value == 20
    limit.settings = LimitSettings(max_calls=50)
    assert limit.value == 50, "it had as many as it might"
    for _ in range(50):
        limit.saw(0.01, 50)
    for _ in range(20):
        limit.saw(1.0, 50)
    shrunk = limit.value
    limit.settings = LimitSettings(max_calls=60)
    assert limit.value == shrunk


def test_a_limit_that_is_not_adaptive_stays():
    limit = AdaptiveLimit(LimitSettings(max_calls=10, adaptive=False))
    for seconds in (0.01, 0.01, 5.0, 5.0, 5.0):
        limit.saw(seconds, 10)
    assert limit.value == 10


def test_unusual_is_compared_with_calls_of_the_same_size():
    waits = Waits(0.95)
    assert waits.unusual(1000) == inf
    for number in range(200):
        waits.saw(1000, 0.1 if number % 10 else 0.5)
        waits.saw(30_000, 3.0)
    assert 0.4 < waits.unusual(1000) < 0.8
    assert 2.5 < waits.unusual(30_000) < 4.0
    assert waits.unusual(3) == inf


def test_a_budget_is_a_share_of_the_calls_and_a_reserve():
    budget = Budget(0.1, 3.0)
    assert [budget.spend() for _ in range(4)] == [True, True, True, False]
    spent = 0
    for _ in range(1000):
        budget.earn()
        spent += budget.spend()
    assert spent == pytest.approx(100, abs=1)


def test_a_budget_saves_up_for_a_while_only():
    budget = Budget(0.02, 0.0)
    for _ in range(100_000):
        budget.earn()
    assert sum(budget.spend() for _ in range(100)) == 2
    budget.change(0.5, 0.0)
    for _ in range(10):
        budget.earn()
    assert sum(budget.spend() for _ in range(100)) == 5
