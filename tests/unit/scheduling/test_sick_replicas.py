"""Replicas that fail, die, turn calls away or become slow: what that costs callers."""

import pytest

from antiphon.scheduling.settings import SchedulerSettings
from antiphon.scheduling.simulator.troubles import Trouble
from tests.unit.scheduling.traffic import at, chats, refused, run, times, waits

SECONDS = 400
CALLS = chats(SECONDS * 20, 20.0)


@pytest.fixture(scope="module")
def healthy():
    return run(CALLS)


def hedged(done):
    return sum(outcome.replicas > 1 for outcome in done.outcomes.values())


@pytest.mark.parametrize("replicas", [2, 8])
def test_a_replica_that_fails_half_of_its_calls_costs_callers_nothing(replicas):
    done = run(chats(3000, 1.5 * replicas), replicas=replicas, troubles=(Trouble(1, "errors", share=0.5),))
    assert done.attempts_failed > 5
    assert refused(done) < 0.005


def test_nor_does_one_that_fails_for_five_seconds_and_is_well_for_five():
    troubles = [Trouble(3, "errors", since=float(since), until=since + 5.0) for since in range(5, SECONDS, 10)]
    done = run(CALLS, troubles=troubles)
    assert done.attempts_failed > 5
    assert refused(done) < 0.005


def test_a_dead_replica_is_asked_fewer_than_five_times():
    done = run(CALLS[:6000], troubles=(Trouble(3, "dead"),))
    assert 1 <= done.attempts_failed < 5
    assert refused(done) == 0


def test_of_one_that_dies_only_answers_that_had_begun_are_lost():
    done = run(CALLS, troubles=(Trouble(3, "dead", since=50.0),))
    lost = [outcome for outcome in done.outcomes.values() if outcome.refused]
    assert all(outcome.first_token for outcome in lost), "an answer that has begun is never begun again"
    assert len(lost) <= 12
    assert done.attempts_failed <= 12 + 5


def test_a_dead_replica_that_comes_back_is_used_again():
    done = run(CALLS, troubles=(Trouble(3, "dead", since=20.0, until=60.0),))
    assert done.scheduler.fleet.replicas[3].served > 0.05 * len(CALLS)


def test_one_that_is_twenty_times_slower_is_hardly_felt(healthy):
    for since in (0.0, 100.0):
        done = run(CALLS, troubles=(Trouble(3, "slow", since=since),))
        assert at(0.99, times(done)) < 1.2 * at(0.99, times(healthy))
        assert refused(done) == 0


def test_a_slow_one_that_recovers_is_used_again():
    done = run(CALLS, troubles=(Trouble(3, "slow", since=20.0, until=60.0),))
    assert done.scheduler.fleet.replicas[3].served > 0.05 * len(CALLS)


def test_one_that_turns_calls_away_is_left_alone_for_as_long_as_it_says():
    done = run(CALLS, troubles=(Trouble(3, "limited", retry_after=10.0),))
    assert refused(done) == 0
    assert done.attempts_failed < SECONDS / 10 * 6


def test_when_every_replica_turns_calls_away_callers_hear_how_long():
    done = run(chats(400, 10.0), replicas=2, troubles=[Trouble(which, "limited", since=10.0, retry_after=30.0) for which in (0, 1)])
    reasons = {outcome.refused for outcome in done.outcomes.values()}
    assert reasons == {"", "failed", "no_replica"}
    assert done.attempts_failed < 12, "nobody asks them meanwhile"


def test_when_all_are_sick_all_are_asked():
    """Ejection never empties a pool: what looks like the fault of everybody may be one of ours."""
    everybody = [Trouble(which, "errors", share=0.8) for which in range(4)]
    done = run(chats(2000, 5.0), replicas=4, troubles=everybody)
    answered = sum(bool(outcome.finished) for outcome in done.outcomes.values()) / 2000
    assert answered > 0.2


def test_hedges_stay_within_two_percent_of_the_calls(healthy):
    assert 0 < hedged(healthy) <= 0.02 * len(CALLS)
    done = run(CALLS, troubles=(Trouble(3, "slow", times=4.0),), settings=SchedulerSettings())
    assert 0 < hedged(done) <= 0.02 * len(CALLS) + done.attempts_failed


def test_hedges_help_those_that_wait_unusually_long(healthy):
    from antiphon.scheduling.settings import RetrySettings

    without = run(CALLS, settings=SchedulerSettings(retries=RetrySettings(hedge_budget=0.0)))
    assert hedged(without) == 0
    assert at(0.99, waits(healthy)) < 1.05 * at(0.99, waits(without))
