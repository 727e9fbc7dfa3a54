"""What the scheduler decides, event by event."""

import pytest

from antiphon.core.breaker_policy import BreakerPolicy, BreakerView
from antiphon.scheduling.info import ReplicaInfo
from antiphon.scheduling.job import Dispatch, Job, Refuse, Withdraw
from antiphon.scheduling.scheduler import Scheduler
from antiphon.scheduling.settings import HealthSettings, LimitSettings, QueueSettings, RetrySettings, SchedulerSettings
from tests.unit.scheduling.fleets import learn, prompt


def info(name, calls=1, **more):
    return ReplicaInfo(name, limits=LimitSettings(max_calls=calls, min_calls=1, adaptive=False), **more)


def scheduler(replicas=1, *, calls=1, policy="balanced", **settings):
    return Scheduler([info(f"r{place}", calls) for place in range(replicas)], ((policy, 1.0),), SchedulerSettings(**settings))


def job(number, arrived=0.0, **more):
    return Job(number, arrived, 100, 50, **more)


def kinds(decisions):
    return [(type(decision).__name__, decision.job.id) for decision in decisions]


def test_a_call_goes_out_at_once_where_there_is_room_and_waits_where_there_is_none():
    made = scheduler()
    assert kinds(made.arrived(job(1), 0.0)) == [("Dispatch", 1)]
    assert made.arrived(job(2), 0.0) == []
    assert (made.waiting, made.running) == (1, 1)
    assert kinds(made.finished(1, 0, 10, 1.0)) == [("Dispatch", 2)]


def test_a_call_that_waited_for_as_long_as_it_may_is_refused():
    made = scheduler(queue=QueueSettings(max_wait=(5.0, 3.0, 1.0)))
    made.arrived(job(1), 0.0)
    made.arrived(job(2, tier=2), 0.0)
    made.arrived(job(3, tier=1), 0.0)
    assert made.next_alarm() == pytest.approx(1.0)
    (refusal,) = made.tick(1.0)
    assert (refusal.job.id, refusal.reason) == (2, "waited")
    assert made.tick(2.9) == []
    assert kinds(made.tick(3.0)) == [("Refuse", 3)]


def test_a_call_is_refused_when_it_can_no_longer_be_on_time():
    made = scheduler()
    learn(made.fleet, pace=0.1)
    made.arrived(job(1), 0.0)
    made.arrived(job(2, deadline=8.0), 0.0)
    (refusal,) = made.finished(1, 0, 10, 7.9)
    assert (refusal.job.id, refusal.reason) == (2, "late")


def test_a_full_queue_takes_a_higher_tier_in_and_the_last_of_the_lowest_out():
    made = scheduler(queue=QueueSettings(max_waiting=2))
    for number, tier in ((1, 1), (2, 2), (3, 2)):
        made.arrived(job(number, tier=tier, deadline=100.0 + number), 0.0)
    (refusal,) = made.arrived(job(4, tier=0), 0.0)
    assert (refusal.job.id, refusal.reason) == (3, "queue_full")
    (refusal,) = made.arrived(job(5, tier=2), 0.0)
    assert (refusal.job.id, refusal.reason) == (5, "queue_full")
    assert made.running == 1, "what a replica has is never taken back"


def test_a_call_that_failed_goes_to_another_replica_before_all_that_wait():
    made = scheduler(2)
    (first,) = made.arrived(job(1), 0.0)
    (second,) = made.arrived(job(2), 0.0)
    made.arrived(job(3), 0.0)
    assert kinds(made.failed(1, first.replica, 1.0)) == [("Dispatch", 3)], "the replica that failed it serves who waits"
    assert kinds(made.finished(2, second.replica, 5, 2.0)) == [("Dispatch", 1)]


def test_a_call_is_tried_so_many_times_and_no_more():
    made = scheduler(5, retries=RetrySettings(attempts=3))
    seen = [made.arrived(job(1), 0.0)[0].replica]
    for _ in range(2):
        (again,) = made.failed(1, seen[-1], 1.0)
        assert again.replica not in seen
        seen.append(again.replica)
    (refusal,) = made.failed(1, seen[-1], 1.0)
    assert (refusal.job.id, refusal.reason) == (1, "failed")


def test_the_only_replica_is_asked_again_after_a_pause():
    made = scheduler(1, retries=RetrySettings(pause=0.2))
    made.arrived(job(1), 0.0)
    assert made.failed(1, 0, 1.0) == []
    pause = made.next_alarm() - 1.0
    assert 0.1 <= pause <= 0.3
    assert kinds(made.tick(1.0 + pause)) == [("Dispatch", 1)]


def test_retries_keep_to_their_budget():
    made = scheduler(3, calls=100, retries=RetrySettings(budget=0.1, reserve=2.0), breaker=BreakerPolicy(minimum_calls=1000))
    retried = 0
    for number in range(200):
        (sent,) = made.arrived(job(number), 0.0)
        retried += any(isinstance(decision, Dispatch) for decision in made.failed(number, sent.replica, 0.0))
        made.gone(number, 0.0)
    assert retried == pytest.approx(2 + 0.1 * 200, abs=1)


@pytest.mark.parametrize("event", ["first token", "gone", "not retryable", "too late"])
def test_some_calls_are_never_tried_again(event):
    made = scheduler(2)
    learn(made.fleet, pace=0.1)
    (sent,) = made.arrived(job(1, deadline=20.0), 0.0)
    if event == "first token":
        made.first_token(1, sent.replica, 0.5)
    if event == "gone":
        assert [type(decision) for decision in made.gone(1, 0.5)] == [Withdraw]
        assert made.failed(1, sent.replica, 1.0) == []
        return
    decisions = made.failed(1, sent.replica, 19.9 if event == "too late" else 1.0, retryable=event != "not retryable")
    assert kinds(decisions) == [("Refuse", 1)]


def hedging(**settings):
    """A scheduler that knows how long a first token usually takes."""
    made = scheduler(3, calls=4, retries=RetrySettings(**settings))
    for number in range(1000, 1100):
        (sent,) = made.arrived(job(number), 0.0)
        made.first_token(number, sent.replica, 0.1)
        made.finished(number, sent.replica, 5, 0.5)
    return made


def test_a_call_that_waits_unusually_long_is_asked_of_a_second_replica_and_the_first_to_begin_keeps_it():
    made = hedging()
    (first,) = made.arrived(job(1), 10.0)
    (second,) = made.tick(10.2)
    assert second.hedge
    assert second.replica != first.replica
    (stop,) = made.first_token(1, second.replica, 10.3)
    assert stop == Withdraw(first.job, first.replica)
    assert made.first_token(1, first.replica, 10.4) == [], "it comes too late"


def test_nothing_is_hedged_after_its_first_token_nor_while_others_wait_nor_without_budget():
    made = hedging()
    (first,) = made.arrived(job(1), 10.0)
    made.first_token(1, first.replica, 10.05)
    assert made.tick(10.2) == []
    made = hedging(hedge_budget=0.0)
    made.arrived(job(1), 10.0)
    assert made.tick(10.2) == []
    made = hedging()
    for number in range(20):
        made.arrived(job(number), 10.0)
    assert made.waiting
    assert not any(decision.hedge for decision in made.tick(10.2) if isinstance(decision, Dispatch))


def test_hedges_never_pass_their_share():
    made = hedging(hedge_budget=0.02)
    hedges, calls = 0, 100
    for number in range(2000):
        now = 20.0 + number
        made.arrived(job(number), now)
        calls += 1
        hedges += sum(decision.hedge for decision in made.tick(now + 0.3))
        assert hedges <= 0.02 * calls
        made.gone(number, now + 0.4)
    assert hedges >= 0.015 * calls


def test_when_all_cool_a_call_waits_a_moment_and_is_refused_for_longer():
    made = scheduler(2, queue=QueueSettings(cooling_wait=1.0))
    for number, rest in ((1, 9.0), (2, 3.5)):
        (sent,) = made.arrived(job(number), 0.0)
        made.failed(number, sent.replica, 0.0, retry_after=rest, retryable=False)
    (refusal,) = made.arrived(job(3), 1.0)
    assert (refusal.reason, refusal.retry_after) == ("no_replica", pytest.approx(2.5))
    assert made.arrived(job(4), 2.6) == [], "it waits for the 0.9 seconds that are left"
    assert kinds(made.tick(3.5)) == [("Dispatch", 4)]


def test_who_waits_hears_at_once_when_there_is_nobody_left_to_ask():
    made = scheduler(1)
    made.arrived(job(1), 0.0)
    made.arrived(job(2), 0.0)
    decisions = made.failed(1, 0, 1.0, retry_after=7.0)
    assert [(decision.job.id, decision.reason, decision.retry_after) for decision in decisions] == [
        (1, "failed", pytest.approx(7.0)),
        (2, "no_replica", pytest.approx(7.0)),
    ]


def fail(made, count, now=0.0, first=100):
    for number in range(first, first + count):
        (sent, *_) = made.arrived(job(number), now)
        if isinstance(sent, Dispatch):
            made.failed(number, sent.replica, now, retryable=False)


def test_a_breaker_opens_with_the_fourth_failure_and_tells_for_how_long():
    made = scheduler(1, calls=10)
    fail(made, 3)
    assert made.fleet.usable
    fail(made, 1, now=1.0, first=200)
    (refusal,) = made.arrived(job(1), 5.0)
    assert (refusal.reason, refusal.retry_after) == ("no_replica", pytest.approx(26.0))


def test_half_open_takes_so_many_trials_and_no_more_calls():
    made = scheduler(1, calls=10, breaker=BreakerPolicy(trials=3, open_for=10.0))
    fail(made, 4)
    made.tick(10.0)
    trials = [made.arrived(job(number), 10.0) for number in range(1, 8)]
    sent = [decision for decisions in trials for decision in decisions if isinstance(decision, Dispatch)]
    assert len(sent) == 3
    for decision in sent[:2]:
        made.finished(decision.job.id, 0, 5, 10.01)
    assert isinstance(made.arrived(job(50), 10.01)[0], Dispatch), "two of three were enough"


def test_a_trial_that_nobody_reports_comes_back():
    made = scheduler(1, calls=10, breaker=BreakerPolicy(trials=1, open_for=10.0, trial_lease=5.0))
    fail(made, 4)
    made.tick(10.0)
    assert kinds(made.arrived(job(1), 10.0)) == [("Dispatch", 1)]
    (refusal,) = made.arrived(job(2), 11.0)
    assert refusal.retry_after == pytest.approx(4.0)
    made.tick(15.0)
    assert kinds(made.arrived(job(3), 15.0)) == [("Dispatch", 3)]


def test_two_refused_connections_open_it_and_each_period_in_which_it_stays_dead_is_longer():
    made = scheduler(1, calls=10)
    opened = []
    now = 0.0
    for number in range(6):
        made.tick(now)
        (sent,) = made.arrived(job(number), now)
        made.failed(number, sent.replica, now, unreachable=True, retryable=False)
        if not made.fleet.usable:
            until = made.fleet.next_recovery(now)
            opened.append(until - now)
            now = until
    assert opened == [pytest.approx(seconds) for seconds in (30.0, 90.0, 240.0, 240.0, 240.0)]


def test_late_first_tokens_count_as_failures_before_they_come():
    made = scheduler(1, calls=10, health=HealthSettings(first_token_over=2.0), breaker=BreakerPolicy(minimum_calls=2))
    made.arrived(job(1), 0.0)
    made.arrived(job(2), 0.0)
    made.tick(1.9)
    assert made.fleet.usable
    made.tick(2.0)
    assert not made.fleet.usable


def test_slow_answers_count_as_failures_where_somebody_says_what_is_slow():
    made = scheduler(1, calls=10, health=HealthSettings(token_over=0.1), breaker=BreakerPolicy(minimum_calls=2))
    for number in (1, 2):
        made.arrived(job(number), 0.0)
        made.first_token(number, 0, 0.1)
    for number in (1, 2):
        made.finished(number, 0, 10, 5.0)
    assert not made.fleet.usable


def test_a_stream_that_stalls_speaks_against_its_replica_and_is_not_begun_again():
    made = scheduler(2, calls=10, breaker=BreakerPolicy(minimum_calls=1))
    (sent,) = made.arrived(job(1), 0.0)
    made.first_token(1, sent.replica, 0.1)
    assert kinds(made.failed(1, sent.replica, 60.0)) == [("Refuse", 1)]
    assert sent.replica not in made.fleet.usable


def test_what_others_know_of_a_breaker_holds_here():
    made = scheduler(2, calls=10)
    made.health(0, BreakerView("open", 5, 20.0), 1.0)
    assert all(made.arrived(job(number), 2.0)[0].replica == 1 for number in range(5))
    made.health(0, BreakerView("closed", 6, 0.0), 3.0)
    assert 0 in made.fleet.usable


def test_ejection_never_empties_a_pool():
    made = scheduler(4, calls=10, panic=0.5)
    for index in range(2):
        made.health(index, BreakerView("open", 5, 50.0), 1.0)
    assert len(made.fleet.usable) == 2
    made.health(2, BreakerView("open", 5, 50.0), 1.0)
    assert len(made.fleet.usable) == 4, "three of four sick ones look like a fault of ours"
    made.health(0, BreakerView("closed", 6, 0.0), 2.0)
    assert len(made.fleet.usable) == 2


def test_replicas_come_and_go_while_calls_run():
    made = scheduler(2)
    (first,) = made.arrived(job(1), 0.0)
    (second,) = made.arrived(job(2), 0.0)
    made.arrived(job(3), 0.0)
    kept = f"r{second.replica}"
    decisions = made.reconfigure([info(kept), info("new")], (("balanced", 1.0),), SchedulerSettings(), 1.0)
    (sent,) = decisions
    assert made.fleet.replicas[sent.replica].info.name == "new"
    assert sent.replica not in {first.replica, second.replica}, "the number of one that still has calls is not given away"
    assert made.finished(1, first.replica, 5, 2.0) == [], "its answer comes, and nothing more goes there"
    assert made.arrived(job(4), 2.0) == []
    assert kinds(made.finished(2, second.replica, 5, 3.0)) == [("Dispatch", 4)]


def test_what_was_learned_of_a_replica_that_stays_is_kept():
    made = scheduler(2, calls=10)
    learn(made.fleet)
    made.fleet.replicas[1].prefixes.sent((1, 2, 3))
    before = made.fleet.replicas[1]
    made.reconfigure([info("r1", 5), info("x")], (("prefix", 1.0),), SchedulerSettings(), 1.0)
    after = next(replica for replica in made.fleet.replicas if replica.info.name == "r1")
    assert after is before
    assert after.limit.value == 5
    assert made.fleet.holders((1, 2, 3)) == [after.index]


def test_a_queue_is_taken_over_into_another_order():
    made = scheduler(1, policy="fifo")
    for number, tier in ((1, 1), (2, 2), (3, 0)):
        made.arrived(job(number, tier=tier), 0.0)
    made.reconfigure([info("r0")], (("balanced", 1.0),), SchedulerSettings(), 1.0)
    assert kinds(made.finished(1, 0, 5, 2.0)) == [("Dispatch", 3)]
    made.reconfigure([info("r0")], (("round_robin", 1.0),), SchedulerSettings(), 3.0)
    assert made.waiting == 0, "without a queue everybody goes out at once"


def test_a_replica_that_joins_gets_its_share_slowly():
    def drawn(age):
        made = Scheduler([info("a", 400), info("b", 400)], (("round_robin", 1.0),), SchedulerSettings(slow_start=100.0))
        made.reconfigure(
            [info("a", 400), info("b", 400), info("new", 400)], (("round_robin", 1.0),), SchedulerSettings(slow_start=100.0), 0.0
        )
        sent = [made.arrived(job(number), age)[0].replica for number in range(300)]
        return sent.count(2)

    assert drawn(5.0) < drawn(50.0) <= drawn(100.0) + 1
    assert drawn(5.0) < 30
    assert drawn(100.0) == pytest.approx(100, abs=2)


def test_a_call_waits_for_the_replica_that_holds_its_prompt_rather_than_to_compute_it_twice():
    made = Scheduler([info("a"), info("b")], (("balanced", 1.0),), SchedulerSettings())
    learn(made.fleet, per_token=0.001)
    (first,) = made.arrived(prompt(1, blocks=20, number=1), 0.0)
    made.first_token(1, first.replica, 0.1)
    made.fleet.replicas[first.replica]._answer_time = 1.0
    assert made.arrived(prompt(1, blocks=22, number=2), 0.2) == [], "ten seconds of prefill against one of waiting"
    assert made.waiting == 1
    (other,) = made.arrived(prompt(9, blocks=2, number=3), 0.3)
    assert other.replica != first.replica, "nobody else waits with it"
    assert kinds(made.finished(1, first.replica, 5, 0.8)) == [("Dispatch", 2)]


def test_a_call_that_waited_for_a_replica_in_vain_goes_elsewhere():
    made = Scheduler([info("a"), info("b")], (("balanced", 1.0),), SchedulerSettings())
    learn(made.fleet, per_token=0.001)
    (first,) = made.arrived(prompt(1, blocks=20, number=1), 0.0)
    made.first_token(1, first.replica, 0.1)
    made.fleet.replicas[first.replica]._answer_time = 1.0
    made.arrived(prompt(1, blocks=22, number=2), 0.2)
    (sent,) = made.tick(2.3)
    assert sent.job.id == 2
    assert sent.replica != first.replica


def test_a_replica_that_finds_less_in_its_cache_than_was_believed_is_believed_to_hold_less():
    made = scheduler(1, calls=10)
    learn(made.fleet)
    for number in range(100):
        made.arrived(prompt(number, blocks=10, number=number), float(number))
        made.finished(number, 0, 5, number + 0.5)
    held = made.fleet.replicas[0].prefixes
    assert held.hits(prompt(0, blocks=10).blocks) == 10
    for number in range(200, 220):  # nothing is there that was sent more than thirty prompts ago
        made.arrived(prompt(number - 170, blocks=10, number=number), float(number))
        made.first_token(number, 0, number + 0.1, cached_tokens=0)
        made.finished(number, 0, 5, number + 0.5)
    assert held.hits(prompt(0, blocks=10).blocks) == 0
    assert held.hits(prompt(49, blocks=10).blocks) == 10


def test_refusals_say_who_and_why():
    made = Scheduler([], (("balanced", 1.0),), SchedulerSettings())
    (refusal,) = made.arrived(job(1), 0.0)
    assert refusal == Refuse(job(1), "no_replica", 1.0)


def test_policies_are_timed_by_whatever_is_given():
    ticks = iter(range(10_000))
    made = Scheduler([info("a", 9), info("b", 9)], (("balanced", 1.0),), SchedulerSettings(), stopwatch=lambda: float(next(ticks)))
    for number in range(10):
        made.arrived(job(number), 0.0)
    assert made.choice.conduct["balanced"].spent > 0
