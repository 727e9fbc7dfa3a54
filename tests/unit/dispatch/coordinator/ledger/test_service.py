import pytest

from antiphon.core.ledger import FOREVER, Hold, Limit, Refusal, Reservation, Window
from antiphon.dispatch.coordinator.ledger.messages import Told
from antiphon.dispatch.coordinator.ledger.slices import QUIET
from tests.unit.dispatch.coordinator.rig import LEASE, Rig


def reserve(rig, wire, account, amount, limit):
    told = []
    known = wire.ledger.reserve([Hold(account, amount, limit)], told.append)
    rig.pump()
    return known if known is not None else told[0] if told else None


def standing(rig, account):
    return rig.book.standing((account, FOREVER.code), rig.clock.time())


def test_an_uncontended_call_asks_nobody():
    rig = Rig(eager=False)
    worker, limit = rig.worker(), Limit(10_000)
    reserve(rig, worker, "a", 10, limit)
    asked = worker.ledger.stats().asked
    for _ in range(30):
        assert isinstance(reserve(rig, worker, "a", 10, limit), Reservation)
    assert worker.ledger.stats().asked == asked


def test_what_lies_idle_elsewhere_is_called_back_before_anybody_is_refused():
    rig = Rig(eager=False)
    one, two, limit = rig.worker(), rig.worker(), Limit(1000)
    reserve(rig, one, "a", 10, limit)
    assert standing(rig, "a").escrowed > 0
    assert isinstance(reserve(rig, two, "a", 990, limit), Reservation)
    assert rig.service.stats().recalls == 1
    assert isinstance(reserve(rig, one, "a", 1, limit), Refusal)


def waiting(rig, wire, account, amount, limit):
    """What is told of an ask that finds no room."""
    told = []
    assert wire.ledger.reserve([Hold(account, amount, limit)], told.append) is None
    rig.pump()
    assert told == []
    return told


def test_a_place_that_is_given_back_a_moment_later_goes_to_who_waits_for_it_in_order():
    rig = Rig(eager=False, lingers=True)
    one, two, three, limit = rig.worker(), rig.worker(), rig.worker(), Limit(1)
    held = reserve(rig, one, "a", 1, limit)
    second, third = waiting(rig, two, "a", 1, limit), waiting(rig, three, "a", 1, limit)
    rig.ring(0.02)
    one.ledger.settle(held, [0])
    rig.pump()
    assert [type(told[0]) for told in (second,)] == [Reservation]
    assert third == []
    rig.ring(0.05)
    assert isinstance(third[0], Refusal)
    assert standing(rig, "a").reserved == 1


def test_who_waits_in_vain_is_refused_after_a_moment_and_another_one_after_its_own():
    rig = Rig(eager=False, lingers=True)
    one, two, limit = rig.worker(), rig.worker(), Limit(1)
    reserve(rig, one, "a", 1, limit)
    first = waiting(rig, two, "a", 1, limit)
    rig.ring(0.03)
    second = waiting(rig, two, "a", 1, limit)
    rig.ring(0.03)
    assert isinstance(first[0], Refusal)
    assert second == []
    rig.ring(0.03)
    assert isinstance(second[0], Refusal)
    assert rig.timers == []


def test_nobody_waits_for_what_time_alone_gives_back_or_for_more_than_there_is():
    rig = Rig(eager=False, lingers=True)
    one, two = rig.worker(), rig.worker()
    for limit in (Limit(1, Window("sliding", 60)), Limit(1)):
        reserve(rig, one, limit.window.code, 1, limit)
    assert isinstance(reserve(rig, two, "sliding/60/0", 1, Limit(1, Window("sliding", 60))), Refusal)
    assert isinstance(reserve(rig, two, "none/0/0", 2, Limit(1)), Refusal)


def test_who_goes_away_while_it_waits_is_forgotten():
    rig = Rig(eager=False, lingers=True)
    one, two, limit = rig.worker(), rig.worker(), Limit(1)
    held = reserve(rig, one, "a", 1, limit)
    waiting(rig, two, "a", 1, limit)
    two.cut()
    one.ledger.settle(held, [0])
    rig.pump()
    assert standing(rig, "a").total == 0


def test_a_worker_that_hangs_delays_a_recall_for_a_moment_only():
    rig = Rig(eager=False)
    one, two, limit = rig.worker(), rig.worker(), Limit(1000)
    reserve(rig, one, "a", 10, limit)
    one.linked = False  # neither reads nor writes
    told = []
    assert two.ledger.reserve([Hold("a", 990, limit)], told.append) is None
    rig.pump()
    assert told == []
    rig.clock.advance(0.3)
    rig.service.tick()
    rig.pump()
    assert isinstance(told[0], Refusal)


def test_while_the_coordinator_is_gone_escrow_is_used_then_the_policy_decides():
    rig = Rig(eager=False)
    worker = rig.worker()
    money, rate = Limit(1000), Limit(1000, outage="open")
    kept = reserve(rig, worker, "money", 10, money)
    rig.kill_coordinator()
    assert isinstance(reserve(rig, worker, "money", 10, money), Reservation)
    refusal = reserve(rig, worker, "money", 1000, money)
    assert (refusal.reason, refusal.account) == ("unavailable", "money")
    passed = reserve(rig, worker, "rate", 5, rate)
    worker.ledger.settle(kept, [7])
    worker.ledger.settle(passed, [4])
    rig.clock.advance(LEASE + 1)
    assert reserve(rig, worker, "money", 1, money).reason == "unavailable", "the escrow is no longer safe"
    rig.start()
    worker.connect()
    rig.pump()
    assert (rig.book.epoch, standing(rig, "money").settled, standing(rig, "rate").settled) == (2, 7, 4)
    assert worker.ledger.stats().unbacked == 1


def test_a_worker_that_was_stopped_for_longer_than_its_lease_still_settles():
    rig = Rig(eager=False)
    worker, other, limit = rig.worker(), rig.worker(), Limit(100)
    kept = reserve(rig, worker, "a", 60, limit)
    worker.alive = False
    rig.pass_time(LEASE + 2)
    assert isinstance(reserve(rig, other, "a", 90, limit), Reservation)
    worker.alive = True
    worker.connect()
    rig.pump()
    assert worker.ledger.stats().revived == 1
    worker.ledger.settle(kept, [50])
    rig.pump()
    assert (standing(rig, "a").settled, standing(rig, "a").reserved) == (50, 90)
    assert isinstance(reserve(rig, other, "a", 1, limit), Refusal)


def test_on_a_full_disk_money_fails_closed_and_nothing_settled_is_lost(caplog):
    rig = Rig(eager=False)
    worker, money, rate = rig.worker(), Limit(1000), Limit(1000, outage="open")
    kept = reserve(rig, worker, "money", 900, money)
    rig.disk_full = True
    for _ in range(2):
        assert reserve(rig, worker, "money", 90, money).reason == "unavailable"
    assert standing(rig, "money").total == 900
    assert isinstance(reserve(rig, worker, "rate", 1, rate), Reservation)
    worker.ledger.settle(kept, [800])
    rig.pump()
    assert "cannot be written" in caplog.text
    rig.disk_full = False
    rig.service.tick()
    assert isinstance(reserve(rig, worker, "money", 200, money), Reservation)
    rig.kill_coordinator()
    rig.start()
    assert standing(rig, "money").settled == 800


def test_a_worker_that_ends_in_order_gives_everything_back_at_once():
    rig = Rig(eager=False)
    worker, limit = rig.worker(), Limit(100)
    worker.ledger.settle(reserve(rig, worker, "a", 10, limit), [3])
    reserve(rig, worker, "a", 10, limit)
    worker.ledger.leave()
    rig.pump()
    assert (standing(rig, "a").settled, standing(rig, "a").total) == (3, 3)
    assert rig.service.stats().sessions == 0


def test_accounts_that_nobody_uses_are_forgotten_by_both_sides():
    rig = Rig(eager=False)
    worker = rig.worker()
    for number in range(50):
        worker.ledger.release(reserve(rig, worker, f"account-{number}", 1, Limit(100)))
    worker.ledger.settle(reserve(rig, worker, "kept", 1, Limit(100)), [1])
    rig.pass_time(45)
    assert worker.ledger.stats().slices == 0
    assert rig.book.accounts == 1
    assert standing(rig, "kept").settled == 1


def test_a_worker_that_comes_back_settles_what_was_charged_meanwhile():
    rig = Rig(eager=False)
    stopped, other, money = rig.worker(), rig.worker(), Limit(100, abandoned="charge")
    kept = reserve(rig, stopped, "money", 60, money)
    stopped.linked = False  # neither reads nor writes
    stopped.awake = False
    beat, stopped.ledger.beat = stopped.ledger.beat, lambda: None
    connect, stopped.connect = stopped.connect, lambda: None
    rig.pass_time(LEASE + 2)
    assert (standing(rig, "money").settled, standing(rig, "money").reserved) == (60, 0)
    assert isinstance(reserve(rig, other, "money", 41, money), Refusal)
    stopped.ledger.beat, stopped.connect = beat, connect
    stopped.ledger.lost()
    rig.pass_time(1)
    assert (standing(rig, "money").settled, standing(rig, "money").reserved) == (0, 60)
    stopped.ledger.settle(kept, [25])
    rig.pass_time(1)
    assert standing(rig, "money").settled == 25
    assert isinstance(reserve(rig, other, "money", 75, money), Reservation)


def test_what_was_charged_survives_the_coordinators_death():
    rig = Rig(eager=False)
    victim, money = rig.worker(), Limit(100, abandoned="charge")
    reserve(rig, victim, "money", 60, money)
    rig.pass_time(1)
    victim.alive = False
    rig.kill_coordinator()
    rig.start()
    rig.pass_time(LEASE + 1)
    rig.kill_coordinator()
    rig.start()
    assert (standing(rig, "money").settled, standing(rig, "money").total) == (60, 60)


@pytest.mark.parametrize("used_again", [False, True])
def test_what_was_used_is_not_lost_with_the_news_that_an_account_was_forgotten(used_again):
    rig = Rig(eager=False)
    worker, limit = rig.worker(), Limit(1000, outage="open")
    worker.ledger.settle(reserve(rig, worker, "a", 10, limit), [10])
    rig.pump()
    rig.clock.advance(QUIET + 1)
    rig.service.received(worker, Told(10_000, ()))  # it is heard of, so that its lease goes on
    rig.pump()
    worker.ledger._acknowledged.valid_until = rig.clock.monotonic() + 5
    worker.ledger.beat()
    assert worker.up
    worker.cut()  # what it said is lost
    if used_again:
        worker.ledger._acknowledged.valid_until = 0.0
        worker.ledger.settle(worker.ledger.reserve([Hold("a", 5, limit)], lambda _: None), [5])
    worker.connect()
    rig.pump()
    assert standing(rig, "a").settled == (15 if used_again else 10)
    rig.pass_time(QUIET * 2 + 5)
    assert standing(rig, "a").settled == (15 if used_again else 10)
    assert worker.ledger._slices._retiring == []
    assert rig.book._accounts["a", FOREVER.code].held == {}
