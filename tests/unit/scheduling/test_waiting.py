"""Who goes next, who gives way, and how long one would wait."""

from math import inf

import pytest

from antiphon.scheduling.fairness import TokenCounters
from antiphon.scheduling.job import Job
from antiphon.scheduling.waiting import ArrivalQueue, WaitingQueue


def job(number, arrived=0.0, *, tier=1, tenant="", due=inf, **more):
    return Job(number, arrived, 100, 100, tier=tier, tenant=tenant, deadline=due, **more)


def queue(*jobs, floors=(0.0, 0.0, 0.0), patience=30.0, counters=None, cost=100.0):
    made = WaitingQueue(counters or TokenCounters(), floors, patience)
    for each in jobs:
        made.push(each, cost)
    return made


def order(made, now=0.0):
    found = []
    while (head := made.head(now)) is not None:
        found.append(head.job.id)
        made.remove(head.job.id)
    return found


def test_tiers_come_in_order():
    assert order(queue(job(1, tier=2), job(2, tier=0), job(3, tier=1))) == [2, 3, 1]


def test_real_time_calls_come_first_in_order_of_arrival():
    made = queue(job(1, due=1.0), job(2, arrived=2.0, realtime=True, due=9.0), job(3, arrived=1.0, realtime=True, due=99.0))
    assert order(made) == [3, 2, 1]


def test_elastic_calls_go_by_deadline():
    assert order(queue(job(1, due=9.0), job(2, due=3.0), job(3, due=6.0))) == [2, 3, 1]


def test_a_first_token_that_is_due_counts_like_a_deadline():
    assert order(queue(job(1, due=9.0), job(2, due=99.0, first_token_due=3.0))) == [2, 1]


def test_loose_deadlines_age():
    made = queue(job(1, arrived=0.0), patience=10.0)
    for number in range(2, 40):
        made.push(job(number, arrived=float(number), due=number + 5.0), 100.0)
    assert order(made).index(1) == 3, "only those due within ten seconds of its arrival go before it"


def test_equals_go_in_the_order_in_which_they_came():
    made = queue(*(job(number, due=5.0) for number in range(10)))
    assert order(made) == list(range(10))


def test_a_tier_below_its_floor_goes_first_until_it_has_its_share():
    made = queue(
        *(job(number, tier=0) for number in range(20)),
        *(job(100 + number, tier=2) for number in range(20)),
        floors=(0.0, 0.0, 0.25),
    )
    tiers = []
    while made and len(tiers) < 21:
        head = made.head(0.0)
        made.remove(head.job.id)
        made.served(head.job.tier, head.cost, 0.0)
        tiers.append(head.job.tier)
    assert tiers.count(2) == 5
    assert tiers[:4] == [0, 0, 0, 0], "nothing is owed before anybody else was served"


def test_a_tier_is_owed_nothing_of_what_was_served_before_it_waited():
    made = queue(job(1, tier=0), floors=(0.0, 0.0, 0.2))
    made.served(0, 1000.0, 0.0)
    made.push(job(2, tier=2), 100.0)
    assert made.head(60.0).job.id == 1
    made.served(0, 500.0, 60.0)
    assert made.head(60.0).job.id == 2


def test_the_tenant_that_was_served_least_is_next():
    counters = TokenCounters()
    for tenant in "ab":
        counters.came(tenant)
    made = queue(job(1, tenant="a"), job(2, tenant="a"), job(3, tenant="b", due=99.0), counters=counters)
    counters.charge("a", 500.0)
    assert made.head(0.0).job.id == 3
    counters.charge("b", 900.0)
    assert made.head(0.0).job.id == 1
    counters.correct("b", -800.0)
    made.touched("b")
    assert made.head(0.0).job.id == 3


def test_somebody_else_goes_where_one_tenant_is_kept_off():
    counters = TokenCounters()
    made = queue(job(1, tier=0, tenant="a"), job(2, tier=2, tenant="b"), job(3, tier=0, tenant="c"), counters=counters)
    counters.charge("c", 50.0)
    assert made.head(0.0).job.id == 1
    assert made.head(0.0, without="a").job.id == 3
    made.remove(3)
    assert made.head(0.0, without="a").job.id == 2
    made.remove(2)
    assert made.head(0.0, without="a") is None
    assert made.head(0.0).job.id == 1


@pytest.mark.parametrize("tier", [0, 1])
def test_a_lower_tier_gives_way_the_last_of_it_first(tier):
    made = queue(job(1, tier=2, due=5.0), job(2, tier=2, due=9.0), job(3, tier=1, due=20.0))
    assert made.gives_way(job(9, tier=tier)).job.id == 2


def test_sheddable_calls_give_way_before_others():
    made = queue(job(1, tier=2, due=5.0), job(2, tier=2, due=9.0, sheddable=False))
    assert made.gives_way(job(9, tier=1)).job.id == 1
    made.remove(1)
    assert made.gives_way(job(9, tier=1)).job.id == 2


def test_in_its_own_tier_a_call_gives_way_only_if_it_may_be_shed_and_the_other_matters_more():
    made = queue(job(1))
    assert made.gives_way(job(9)) is None
    assert made.gives_way(job(9, sheddable=False)).job.id == 1
    assert made.gives_way(job(9, realtime=True)).job.id == 1
    assert queue(job(1, sheddable=False)).gives_way(job(9, realtime=True)) is None
    assert queue(job(1, realtime=True)).gives_way(job(9, realtime=True)) is None


def test_nobody_gives_way_to_a_lower_tier():
    assert queue(job(1, tier=0), job(2, tier=1)).gives_way(job(9, tier=2)) is None


def test_whoever_left_gives_no_way():
    made = queue(*(job(number, tier=2, due=float(number)) for number in range(300)))
    for number in range(1, 300):
        made.remove(number)
    assert made.gives_way(job(999, tier=0)).job.id == 0
    assert len(made._lines[2][1]._last) < 80, "what has left is forgotten"


def test_what_would_go_before_is_what_a_call_waits_for():
    made = queue(job(1, tier=0), job(2, tier=1, due=4.0), job(3, tier=1, due=25.0), job(4, tier=2))
    assert made.work_before(job(9, tier=0)) == 0, "by deadline it would be the first"
    assert made.work_before(job(9, tier=1, due=10.0)) == 200
    assert made.work_before(job(9, tier=2)) >= 300
    assert made.work == 400


def test_a_tenant_waits_for_its_own_work_and_not_for_all_of_a_greedy_one():
    counters = TokenCounters()
    made = queue(*(job(number, tenant="greedy", due=1.0) for number in range(50)), counters=counters)
    assert made.work_before(job(99, tenant="modest", due=20.0)) == 0
    made.push(job(98, tenant="modest"), 100.0)
    assert made.work_before(job(99, tenant="modest", due=20.0)) == 200, "its own, and as much of the other's"
    assert made.work_before(job(99, tenant="greedy", due=20.0)) == 5000


def test_removing_what_is_not_there_is_nothing():
    made = queue(job(1))
    assert made.remove(2) is None
    assert made.remove(1).job.id == 1
    assert made.remove(1) is None
    assert len(made) == 0
    assert made.work == 0


def test_a_job_may_come_back():
    made = queue(job(1), job(2))
    made.remove(1)
    made.push(job(1), 100.0)
    assert [waiting.job.id for waiting in made.everybody()] == [2, 1]
    assert order(made) == [2, 1]


def test_the_plain_queue_knows_arrival_only():
    made = ArrivalQueue()
    for number, tier in ((1, 2), (2, 0), (3, 1)):
        made.push(job(number, tier=tier, due=10.0 - number), 100.0)
    made.served(0, 100.0, 0.0)
    made.touched("")
    assert made.gives_way(job(9, tier=0)) is None
    assert made.work_before(job(9)) == 300
    assert [waiting.job.id for waiting in made.everybody()] == [1, 2, 3]
    assert made.head(0.0).job.id == 1
    made.remove(1)
    assert made.head(0.0).job.id == 2
    assert made.work == 200
