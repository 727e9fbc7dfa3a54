"""Who may be asked, and what is known of each replica."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.scheduling.fleet import Members
from antiphon.scheduling.info import Reported
from antiphon.scheduling.replica import METRICS_COUNT_FOR, SILENCE, distance
from tests.unit.scheduling.fleets import BLOCK, busy, fleet, info, job, learn, prompt, send


@given(st.lists(st.tuples(st.integers(0, 20), st.booleans()), max_size=80), st.integers(1, 10), st.floats(0, 0.999))
def test_members_are_a_set_of_which_some_can_be_had(changes, most, chance):
    members, model = Members(), set()
    for index, there in changes:
        members.put(index, there)
        (model.add if there else model.discard)(index)
        assert len(members) == len(model)
    assert {index for index in range(21) if index in members} == model
    some = members.some(most, chance)
    assert len(some) == len(set(some)) == min(most, len(model))
    assert set(some) <= model
    assert sorted(members.place(index) for index in model) == list(range(len(model)))


def test_every_member_is_looked_at_equally_often():
    members, rng = Members(), Random(1)
    for index in range(100):
        members.put(index, True)
    seen = [index for _ in range(5000) for index in members.some(8, rng.random())]
    counts = [seen.count(index) for index in range(100)]
    assert min(counts) > 300
    assert max(counts) < 500


def test_a_full_replica_is_usable_and_not_open():
    of = fleet("a", "b")
    busy(of, 0, 8)
    assert 0 in of.usable
    assert 0 not in of.open
    assert of.calls == 8
    of.replicas[0].gone(next(iter(of.replicas[0].out.values())), 0.0)
    of.refresh(of.replicas[0], 0.0)
    assert 0 in of.open


def test_a_replica_with_enough_to_prefill_is_not_open():
    of = fleet("a", backlog=0.25)
    learn(of, per_token=0.001)
    send(of, 0, job(1, 300))
    assert 0 not in of.open


def test_one_that_cools_may_not_be_asked_even_when_all_are_sick():
    of = fleet("a", "b")
    of.replicas[0].cooling_until = 5.0
    for replica in of.replicas:
        replica.breaker.trip(30.0, 0.0)
        of.refresh(replica, 0.0)
    assert of.panic
    assert 0 not in of.usable
    assert 1 in of.usable


def test_what_was_told_of_others_counts_and_fades():
    of = fleet("a")
    busy(of, 0, 2)
    replica = of.replicas[0]
    replica.told(Reported(running=5, waiting=2), 10.0)
    assert replica.load(10.0) == 7
    assert replica.load(10.0 + METRICS_COUNT_FOR / 2) == 4.5
    assert replica.load(10.0 + METRICS_COUNT_FOR) == 2
    replica.told(Reported(running=1, waiting=0), 20.0)
    assert replica.load(20.0) == 2, "fewer than we know of ourselves"


def test_others_that_wait_have_their_prompts_before_them():
    of = fleet("a")
    for out in busy(of, 0, 2, prompt_tokens=1000):
        of.replicas[0].first_token(out, 1.0)
    of.replicas[0].told(Reported(running=2, waiting=3), 1.0)
    assert of.replicas[0].backlog(1.0) == pytest.approx(3000)


def test_what_is_cached_need_not_be_prefilled():
    of = fleet("a")
    send(of, 0, prompt(1, blocks=4, number=1))
    assert of.replicas[0].prefill_tokens == 4 * BLOCK
    assert of.replicas[0].uncached(prompt(1, blocks=6), BLOCK) == 2 * BLOCK
    assert of.replicas[0].uncached(prompt(1, blocks=4), BLOCK) == 1, "the last token is always computed"


def test_distance_goes_by_host_rack_and_region():
    of = fleet(info("h", host="h1", rack="r1", region="eu"), info("r", rack="r1"), info("g", region="eu"), info("x"))
    home = ("h1", "r1", "eu")
    assert [distance(job(), replica, home) for replica in of.replicas] == [0, 1, 2, 3]
    assert [distance(job(), replica, ("", "", "")) for replica in of.replicas] == [3, 3, 3, 3]


def test_of_a_replica_that_nobody_chose_for_long_one_call_tells_how_fast_it_is():
    of = fleet("slow", "b", "c")
    learn(of, per_token=0.0001)
    slow = of.replicas[0]
    for _ in range(20):
        slow.speed.saw_first_token(1000, 2.0)
    assert slow.first_token_in(1000, 0.0) > 1.0
    slow.doubt_after_silence(SILENCE - 1)
    assert slow.first_token_in(1000, 0.0) > 1.0
    slow.doubt_after_silence(SILENCE + 1)
    assert slow.first_token_in(1000, 0.0) < 0.9, "as is usual in the fleet"
    out = send(of, 0, job(1), now=SILENCE + 1)
    assert not slow.fits(job(2), 1.0, 10.0, SILENCE + 1), "only one, until it has told"
    slow.first_token(out, SILENCE + 3)
    assert slow.first_token_in(1000, 0.0) > 1.0, "still slow"
    slow.finished(out, 0, SILENCE + 4)
    assert slow.fits(job(2), 1.0, 10.0, SILENCE + 4)


def test_failures_fade():
    of = fleet("a")
    for number in range(5):
        of.replicas[0].failed(send(of, 0, job(number)), 1.0)
    assert of.replicas[0].failures(1.0) > 0.6
    assert of.replicas[0].failures(60.0) < 0.01


def test_a_limit_of_tokens_holds_others_too():
    of = fleet(info("a", limits=info("x").limits.__class__(max_calls=8, min_calls=1, adaptive=False, max_tokens=4000)))
    replica = of.replicas[0]
    assert replica.fits(job(1, 9000), 1.0, 100.0, 0.0), "one call may always be there"
    send(of, 0, job(1, 2000))
    assert replica.fits(job(2, 1000), 1.0, 100.0, 0.0)
    assert not replica.fits(job(2, 3000), 1.0, 100.0, 0.0)


def test_one_that_joins_takes_turns_from_now_on():
    of = fleet("a", "b")
    for number in range(40):
        of.replicas[number % 2].gone(send(of, number % 2, job(number)), 0.0)
    of.set([info("a"), info("b"), info("new")], 5.0, fresh=True)
    assert of.replicas[2].served == 20


def test_the_place_of_one_that_left_is_used_again_when_its_calls_are_over():
    of = fleet("a", "b")
    out = send(of, 0, job(1))
    of.set([info("b"), info("c")], 1.0, fresh=True)
    assert [replica.info.name for replica in of.replicas] == ["a", "b", "c"]
    of.replicas[0].gone(out, 0.0)
    of.set([info("b"), info("c"), info("d")], 2.0, fresh=True)
    assert [replica.info.name for replica in of.replicas] == ["d", "b", "c"]
    assert len(of) == 3
