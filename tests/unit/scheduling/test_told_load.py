"""What replicas tell of their load is a bit old when it comes: our own calls are never taken for others'."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.scheduling.info import ReplicaInfo, Reported
from antiphon.scheduling.job import Dispatch
from antiphon.scheduling.replica import HIGHS_KEPT_FOR, METRICS_COUNT_FOR, Most
from antiphon.scheduling.scheduler import Scheduler
from antiphon.scheduling.settings import LimitSettings, SchedulerSettings
from tests.unit.scheduling.fleets import busy, fleet, info, job, learn, send

TICKS = st.integers(0, 60)
CALLS = st.lists(st.tuples(TICKS, st.integers(1, 20), st.integers(1, 20)), max_size=12)
"""When each is sent, when its first token comes after that, and its end after that."""
POLLS = st.lists(st.tuples(TICKS, st.integers(0, 10), st.integers(0, 10)), min_size=1, max_size=8)
"""When each is asked, when the replica counts after that, and when the answer is here after that."""


def heard(calls, polls, others=0, others_waiting=0):
    """What is known of others after each answer: calls, prompt tokens, and whether ours were the same all the while.

    A tick is 50 ms.
    """
    of = fleet(info("a"))
    replica, outs, found = of.replicas[0], {}, []
    events = [(begin, 0, "sent", number) for number, (begin, _, _) in enumerate(calls)]
    events += [(begin + first, 1, "first", number) for number, (begin, first, _) in enumerate(calls)]
    events += [(begin + first + rest, 2, "gone", number) for number, (begin, first, rest) in enumerate(calls)]
    events += [(asked + counts + comes, 3, "told", number) for number, (asked, counts, comes) in enumerate(polls)]
    for tick, _, what, number in sorted(events):
        now = tick * 0.05
        if what == "sent":
            outs[number] = send(of, 0, job(number), now=now)
        elif what == "first":
            replica.first_token(outs[number], now)
        elif what == "gone":
            replica.gone(outs[number], now)
        else:
            asked, counts, _ = polls[number]
            moment = asked + counts
            there = [call for call in calls if call[0] <= moment < sum(call)]
            waiting = sum(1 for begin, first, _ in there if moment < begin + first)
            reported = Reported(len(there) - waiting + others - others_waiting, waiting + others_waiting, tokens=1500 * len(there))
            replica.told(reported, now, asked * 0.05)
            quiet = not any(asked <= edge <= tick for call in calls for edge in (call[0], sum(call)))
            found.append((replica.others(now), replica.backlog(now) - replica.prefill_tokens, quiet))
    return found


@given(CALLS, POLLS)
def test_where_only_our_calls_are_there_are_no_others_however_old_the_answer(calls, polls):
    assert [(others, ahead) for others, ahead, _ in heard(calls, polls)] == [(0, 0)] * len(polls)


@given(CALLS, POLLS, st.integers(0, 5), st.integers(0, 5))
def test_others_are_never_counted_too_high_and_exactly_while_none_of_ours_comes_or_goes(calls, polls, running, waiting):
    for others, _, quiet in heard(calls, polls, running + waiting, waiting):
        assert others == running + waiting if quiet else others <= running + waiting


def test_calls_that_ended_while_the_answer_came_are_not_others():
    of = fleet("a")
    outs = busy(of, 0, 10)
    replica = of.replicas[0]
    for out in outs[:9]:
        replica.gone(out, 0.4)
    replica.told(Reported(10, 0), 0.5, 0.0)
    assert replica.others(0.5) == 0
    replica.told(Reported(10, 0), 0.5, 0.45)
    assert replica.others(0.5) == 9, "they had left before it was asked"


@given(st.lists(st.tuples(st.floats(0, 3), st.integers(-5, 5)), max_size=40), st.floats(0, HIGHS_KEPT_FOR))
def test_the_highest_of_the_last_seconds_is_known(changes, back):
    most, now, number, past = Most(), 0.0, 10, []
    for pause, change in changes:
        now += pause
        past.append((now, number))
        if change < 0:
            most.fell(number, now)
        number += change
    moment = now - back
    assert most.since(moment, number) == max([number, *(high for until, high in past if until >= moment)])


def test_a_very_long_prompt_of_others_is_seen_by_the_memory_that_it_takes():
    of = fleet("long", "usual")
    learn(of, per_token=5e-5)
    of.replicas[0].told(Reported(1, 0, tokens=120_000), 0.0)
    of.replicas[1].told(Reported(40, 0, tokens=40 * 1500), 0.0)
    assert of.replicas[0].backlog(0.0) > 30_000
    assert of.replicas[1].backlog(0.0) < 6_000, "calls as they usually are prefill a small share of their time"
    assert of.replicas[0].held(0.0) == 120_000
    assert of.replicas[0].backlog(METRICS_COUNT_FOR) == 0


def test_memory_that_our_own_calls_take_is_not_others():
    of = fleet("a")
    learn(of)
    busy(of, 0, 4, prompt_tokens=20_000)
    of.replicas[0].told(Reported(5, 0, tokens=81_000), 0.0)
    assert of.replicas[0].others(0.0) == 1
    assert of.replicas[0].backlog(0.0) - of.replicas[0].prefill_tokens < 100


def test_what_was_told_is_shown_until_it_is_believed_no_more():
    of = fleet("a")
    replica = of.replicas[0]
    assert replica.state(0.0).others is None
    replica.told(Reported(3, 1), 0.0)
    assert replica.state(1.0).others == 4
    assert replica.state(METRICS_COUNT_FOR + 0.1).others is None


def test_calls_go_where_others_have_not_sent_theirs():
    made = Scheduler([info("a"), info("b")], (("balanced", 1.0),), SchedulerSettings())
    learn(made.fleet, slope=0.005)
    made.metrics(0, Reported(6, 2), 0.0, -1.0)
    sent = [each for number in range(6) for each in made.arrived(job(number), 0.0)]
    places = Counter(each.replica for each in sent if isinstance(each, Dispatch))
    assert places[1] > places[0]


@pytest.mark.parametrize("replica", [-1, 2])
def test_a_replica_that_is_not_there_tells_nothing(replica):
    made = Scheduler([info("a"), info("b")], (("balanced", 1.0),), SchedulerSettings())
    assert made.metrics(replica, Reported(6, 2), 0.0) == []


def test_the_pace_of_a_replica_is_learned_with_all_calls_that_are_there():
    """Two replicas are alike; one has ten calls of others too, and is slower by them: what it does alone is known all the same."""
    of = fleet("a", "b")
    for number in range(1, 41):
        for replica, others in ((of.replicas[0], 0), (of.replicas[1], 10)):
            now = 10.0 * number
            replica.told(Reported(others, 0), now)
            out = send(of, replica.index, job(number * 2 + replica.index), now=now)
            more = busy(of, replica.index, number % 5, first=100_000)
            replica.first_token(out, now + 0.1)
            seconds = 0.01 + 0.001 * (number % 5 + 1 + others)
            replica.told(Reported(others + len(replica.out), 0), now + 0.1)
            replica.finished(out, 11, now + 0.1 + 10 * seconds)
            for each in more:
                replica.gone(each, now + 1)
    assert of.replicas[1].speed.per_token(15.0) == pytest.approx(0.025, rel=0.1)
    assert of.replicas[0].speed.per_token(3.0) == pytest.approx(0.013, rel=0.1)


@pytest.mark.parametrize("names", ["a", "ab"])
def test_where_others_fill_all_places_ours_still_have_those_that_they_may_always_have(names):
    limits = LimitSettings(max_calls=32, min_calls=4)
    replicas = [ReplicaInfo(name, limits=limits) for name in names]
    scheduler = Scheduler(replicas, (("balanced", 1.0),), SchedulerSettings())
    now = 0.0
    for number in range(1, 9):  # one after the other, each taking two seconds
        for index in range(len(names)):
            scheduler.metrics(index, Reported(10**10, 0), now, now)
        (sent,) = scheduler.arrived(job(number), now)
        assert isinstance(sent, Dispatch)
        assert scheduler.first_token(number, sent.replica, now + 0.01) == []
        now += 2.0
        assert scheduler.finished(number, sent.replica, 10, now) == []
    for index in range(len(names)):
        scheduler.metrics(index, Reported(10**10, 0), now, now)
    for number in range(10, 10 + 4 * len(names)):
        (sent,) = scheduler.arrived(job(number), now)
        scheduler.first_token(number, sent.replica, now)
    assert scheduler.arrived(job(99), now) == [], "the next one waits"
