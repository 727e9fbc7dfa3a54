"""What tenants were served, and what they ask for."""

import pytest

from antiphon.scheduling.fairness import Demand, TokenCounters, cost


def test_a_token_of_an_answer_counts_twice():
    assert cost(100, 10) == 120


def test_a_tenant_that_comes_back_is_lifted_to_those_who_stayed():
    counters = TokenCounters()
    counters.came("a")
    for _ in range(10):
        counters.charge("a", 100.0)
    counters.came("b")
    assert counters.of("b") == 900, "what the last one who was served had before"
    counters.charge("b", 100.0)
    counters.left("b")
    for _ in range(10):
        counters.charge("a", 100.0)
    counters.came("b")
    assert counters.of("b") == 1900


def test_a_tenant_that_stays_is_not_lifted():
    counters = TokenCounters()
    counters.came("a")
    counters.came("b")
    for _ in range(10):
        counters.charge("a", 100.0)
    counters.came("b")
    assert counters.of("b") == 0


def test_estimates_are_corrected():
    counters = TokenCounters()
    counters.came("a")
    counters.charge("a", 100.0)
    counters.correct("a", -40.0)
    counters.correct("nobody", 50.0)
    assert counters.of("a") == 60
    assert counters.of("nobody") == 0


def test_tenants_that_left_are_forgotten_once_the_others_have_passed_them():
    counters = TokenCounters()
    counters.came("stays")
    counters.charge("stays", 10.0)
    counters.charge("stays", 10.0)
    for number in range(3000):
        counters.came(f"t{number}")
        counters.left(f"t{number}")
    assert len(counters._counters) < 1100
    assert counters.present("stays") == 1


def test_one_that_asks_for_more_than_all_others_dominates():
    demand = Demand()
    demand.asked("a", 100.0, 0.0)
    assert (demand.dominates, demand.dominant) == (False, "a"), "there is nobody else"
    demand.asked("b", 90.0, 0.0)
    assert (demand.dominates, demand.dominant) == (True, "a")
    demand.asked("b", 20.0, 0.0)
    assert demand.dominant == "b"
    demand.asked("c", 30.0, 0.0)
    assert (demand.dominates, demand.dominant) == (False, "b"), "nobody has more than half of three"


def test_what_was_asked_long_ago_fades():
    demand = Demand()
    demand.asked("a", 1000.0, 0.0)
    demand.asked("b", 100.0, 100.0)
    assert (demand.dominates, demand.dominant) == (False, "b")
    assert demand._total == pytest.approx(100, abs=2)


def test_calls_out_are_told_apart():
    demand = Demand()
    demand.asked("a", 1000.0, 0.0)
    demand.asked("b", 10.0, 0.0)
    for tenant in "aaabb":
        demand.sent(tenant)
    assert demand.others_out == 2
    demand.back("b")
    demand.back("a")
    assert demand.others_out == 1
