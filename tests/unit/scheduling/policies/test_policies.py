"""What each policy prefers."""

from collections import Counter
from random import Random

import pytest

from antiphon.scheduling.choice import Choice, named
from antiphon.scheduling.replica import PEAK_DECAY
from tests.unit.scheduling.fleets import busy, fleet, info, job, learn, prompt, send, situation


def best(policy, of, what, *, only=None, rng=None, **more):
    """Number of the replica that a policy likes best."""
    replicas = [replica for replica in of.replicas if only is None or replica.index in only]
    scores = named(policy).score(what, replicas, situation(of, **more), rng or Random(1))
    return replicas[max(range(len(replicas)), key=scores.__getitem__)].index


@pytest.mark.parametrize("policy", ["least_conn", "fifo"])
def test_the_fewest_calls_win(policy):
    of = fleet("a", "b", "c")
    busy(of, 0, 2)
    busy(of, 1, 1)
    busy(of, 2, 3)
    assert best(policy, of, job()) == 1


@pytest.mark.parametrize("policy", ["least_tokens", "soonest", "balanced", "prefix"])
def test_tokens_count_and_not_calls(policy):
    of = fleet("a", "b")
    learn(of)
    busy(of, 0, 2, prompt_tokens=60_000)
    busy(of, 1, 5, prompt_tokens=100)
    assert best(policy, of, job()) == 1


@pytest.mark.parametrize("policy", ["least_tokens", "soonest"])
def test_long_answers_count_too(policy):
    of = fleet("a", "b")
    learn(of)
    for replica, output in ((0, 4000.0), (1, 10.0)):
        for out in busy(of, replica, 3, output=output):
            of.replicas[replica].first_token(out, 0.0)
            if policy == "soonest":
                of.replicas[replica].speed.saw_tokens(3, output / 1e5)
    assert best(policy, of, job()) == 1


@pytest.mark.parametrize("policy", ["weighted", "round_robin"])
def test_turns_go_by_weight(policy):
    of = fleet(info("a", weight=3.0), info("b"), info("c"))
    turns = Counter()
    for number in range(100):
        chosen, _ = Choice(((policy, 1.0),), Random(number)).pick(job(number), of.replicas, situation(of))
        turns[chosen.index] += 1
        of.replicas[chosen.index].gone(send(of, chosen.index, job(number)), 0.0)
    assert turns[0] == pytest.approx(60, abs=1)
    assert turns[1] == pytest.approx(20, abs=1)


def test_of_two_by_chance_the_quicker_with_less_to_do_wins():
    of = fleet("a", "b", "c", "d")
    for replica in of.replicas:
        replica.felt(1.0 if replica.index else 20.0, 0.0)
    wins = Counter(best("p2c", of, job(), rng=Random(seed)) for seed in range(400))
    assert wins[0] == 0, "slow, so it loses against whomever"
    assert min(wins[index] for index in (1, 2, 3)) > 60, "the others win by chance"


def test_errors_are_slow_calls_until_they_fade():
    of = fleet("a", "b")
    of.replicas[0].failed(send(of, 0, job(1)), 0.01)
    of.replicas[1].finished(send(of, 1, job(2)), 0, 2.0)
    assert best("p2c", of, job(3), now=2.0) == 1
    assert of.replicas[0].latency(0.01) > of.replicas[1].latency(2.0)
    assert of.replicas[0].latency(10 * PEAK_DECAY) < 0.01


def test_a_session_stays_at_home_whatever_the_load():
    of = fleet("a", "b", "c", "d", "e")
    home = best("session", of, job(session="chat 7"))
    busy(of, home, 5)
    assert best("session", of, job(session="chat 7")) == home
    assert len({best("session", of, job(session=f"chat {number}")) for number in range(60)}) == 5


def test_a_session_without_its_home_has_one_second_home():
    of = fleet("a", "b", "c", "d", "e")
    home = best("session", of, job(session="chat 7"))
    others = [index for index in range(5) if index != home]
    second = best("session", of, job(session="chat 7"), only=others)
    assert best("session", of, job(session="chat 7"), only=others) == second


def test_a_call_of_no_session_goes_where_the_least_is_to_do():
    of = fleet("a", "b", "c")
    busy(of, 0, 1)
    busy(of, 2, 1)
    assert best("session", of, job()) == 1


def test_sessions_keep_their_homes_when_another_replica_leaves():
    before = fleet("a", "b", "c", "d", "e")
    homes = {number: best("session", before, job(session=f"chat {number}")) for number in range(80)}
    after = fleet("a", "b", "c", "d")
    moved = [number for number, home in homes.items() if best("session", after, job(session=f"chat {number}")) != home]
    assert all(homes[number] == 4 for number in moved), "only those of the one that left"


def test_hashing_passes_over_whoever_has_more_than_its_part():
    of = fleet("a", "b", "c", "d")
    home = best("consistent_hash", of, job(session="x"))
    busy(of, home, 6)
    other = best("consistent_hash", of, job(session="x"))
    assert other != home
    assert best("consistent_hash", of, job(session="x")) == other


def test_hashing_goes_by_the_prompt_and_then_by_the_tenant():
    of = fleet("a", "b", "c", "d", "e", "f", "g", "h")
    assert best("consistent_hash", of, prompt(3, blocks=2)) == best("consistent_hash", of, prompt(3, blocks=9))
    assert len({best("consistent_hash", of, prompt(root)) for root in range(60)}) == 8
    assert len({best("consistent_hash", of, job(tenant=f"t{number}")) for number in range(60)}) == 8


def test_the_nearest_comes_first_by_host_rack_and_region():
    of = fleet(
        info("far", region="us"),
        info("region", region="eu"),
        info("rack", region="eu", rack="r1"),
        info("host", rack="r1", host="h1"),
    )
    home = ("h1", "r1", "eu")
    assert best("nearest", of, job(), home=home) == 3
    assert best("nearest", of, job(), home=home, only=(0, 1, 2)) == 2
    assert best("nearest", of, job(), home=home, only=(0, 1)) == 1
    assert best("nearest", of, job(region="us"), home=("", "", "eu")) == 0, "where the caller is counts before where we are"


def test_among_equally_near_ones_work_decides():
    of = fleet(info("a", region="eu"), info("b", region="eu"), info("c", region="us"))
    busy(of, 0, 3)
    busy(of, 1, 1)
    assert best("nearest", of, job(), home=("", "", "eu")) == 1


@pytest.mark.parametrize("policy", ["prefix", "balanced", "soonest"])
def test_a_prompt_goes_where_most_of_it_is_cached(policy):
    of = fleet("a", "b", "c")
    learn(of)
    of.replicas[1].prefixes.sent(prompt(5, blocks=8).blocks)
    of.replicas[2].prefixes.sent(prompt(5, blocks=3).blocks)
    assert best(policy, of, prompt(5, blocks=10)) == 1


def test_a_holder_is_kept_while_it_is_in_time_and_passed_over_when_it_is_not():
    of = fleet("a", "b", "c")
    learn(of)
    long = prompt(5, blocks=40)
    of.replicas[1].prefixes.sent(long.blocks)
    busy(of, 1, 3, prompt_tokens=10_000)
    assert best("prefix", of, long, target=4.0) == 1, "three seconds of work before it"
    assert best("prefix", of, long, target=1.0) != 1
    other = prompt(6, blocks=40)
    of.replicas[2].prefixes.sent(other.blocks)
    assert best("prefix", of, other, target=1.0) == 2, "what keeps one busy changes nothing for another"


def test_a_prompt_is_computed_twice_only_where_that_is_worth_it():
    of = fleet("a", "b")
    learn(of)
    long = prompt(5, blocks=40)
    of.replicas[0].prefixes.sent(long.blocks)
    busy(of, 0, 1, prompt_tokens=50_000)
    assert best("soonest", of, long) == 1, "two seconds of prefill are less than five of waiting"
    assert best("balanced", of, long) == 0, "but they would keep others waiting"
    busy(of, 0, 8, prompt_tokens=50_000, first=5000)
    assert best("balanced", of, long) == 1
