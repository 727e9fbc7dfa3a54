from antiphon.core.breaker_board import Permit, Refused
from antiphon.core.breaker_policy import BreakerPolicy
from tests.unit.dispatch.coordinator.rig import Rig

POLICY = BreakerPolicy()


def ask(rig, wire, target="a"):
    told = []
    known = wire.board.admit(target, POLICY, told.append)
    rig.pump()
    return known if known is not None else told[0] if told else None


def fail(rig, wire, target="a", times=POLICY.minimum_calls):
    for _ in range(times):
        wire.board.report(ask(rig, wire, target), False)
    rig.pump()


def test_a_closed_breaker_asks_nobody_and_tells_in_batches():
    rig = Rig(eager=False)
    worker = rig.worker()
    sent = []
    worker.send = sent.append
    permit = worker.board.admit("a", POLICY, sent.append)
    for _ in range(100):
        assert worker.board.admit("a", POLICY, sent.append) is permit
        worker.board.report(permit, True)
    assert sent == []
    worker.board.flush()
    assert [(count.successes, count.failures) for count in sent[0].counts] == [(100, 0)]


def test_an_opening_is_told_to_everybody_at_once_also_who_never_went_there():
    rig = Rig(eager=False)
    one, two = rig.worker(), rig.worker()
    fail(rig, one)
    assert ask(rig, two).state == "open"
    assert two.board.stats().opened == rig.board.stats().opened == 1


def test_who_comes_later_hears_of_what_is_open():
    rig = Rig(eager=False)
    fail(rig, rig.worker())
    late = rig.worker()
    assert isinstance(ask(rig, late), Refused)


def test_a_coordinator_that_was_killed_learns_from_its_workers_what_is_open():
    rig = Rig(eager=False)
    one, two = rig.worker(), rig.worker()
    fail(rig, one)
    rig.kill_coordinator()
    assert ask(rig, two).state == "open"
    rig.start()
    rig.pass_time(3)
    assert rig.board.view("a").state == "open"
    left = rig.board.view("a").until - rig.clock.monotonic()
    assert 26 <= left <= 28
    rig.pass_time(left)
    permits = [ask(rig, one) for _ in range(POLICY.trials)]
    assert all(isinstance(permit, Permit) for permit in permits)
    assert isinstance(ask(rig, two), Refused)


def test_trials_of_a_coordinators_earlier_life_count_for_nothing():
    rig = Rig(eager=False)
    worker = rig.worker()
    fail(rig, worker)
    rig.pass_time(POLICY.open_for)
    old = [ask(rig, worker) for _ in range(POLICY.trials)]
    rig.kill_coordinator()
    rig.start()
    rig.pass_time(1)
    new = [ask(rig, worker) for _ in range(POLICY.trials)]
    for permit in old:
        worker.board.report(permit, True)
    rig.pump()
    assert rig.board.view("a").state == "half_open"
    for permit in new[: POLICY.needed]:
        worker.board.report(permit, True)
    rig.pump()
    assert worker.board.view("a").state == "closed"


def test_while_alone_each_worker_judges_by_its_own_outcomes_and_takes_its_part_of_the_trials():
    rig = Rig(eager=False)
    one, two = rig.worker(), rig.worker()
    rig.kill_coordinator()
    fail(rig, one)
    one.board.flush()
    assert ask(rig, one).state == "open"
    assert isinstance(ask(rig, two), Permit)
    rig.clock.advance(POLICY.open_for)
    permits = [ask(rig, one) for _ in range(POLICY.trials)]
    assert sum(isinstance(permit, Permit) for permit in permits) == POLICY.trials // 2
    one.board.report(permits[0], False)
    one.board.report(permits[1], False)
    assert ask(rig, one).state == "open"
    rig.start()
    rig.pass_time(1)
    assert ask(rig, two).state == "open"


def test_what_was_counted_alone_is_told_afterwards():
    rig = Rig(eager=False)
    one, two = rig.worker(), rig.worker()
    rig.kill_coordinator()
    for wire in (one, two):
        fail(rig, wire, times=POLICY.minimum_calls // 2)
        wire.board.flush()
    rig.start()
    rig.pass_time(1)
    assert ask(rig, one).state == "open"


def test_a_question_for_a_trial_that_nobody_answers_is_refused_in_time_and_a_late_trial_goes_back():
    rig = Rig(eager=False)
    worker = rig.worker()
    fail(rig, worker)
    rig.pass_time(POLICY.open_for)
    told = []
    assert worker.board.admit("a", POLICY, told.append) is None
    worker.board.flush()
    rig.clock.advance(2.1)
    worker.board.beat()
    assert isinstance(told[0], Refused)
    rig.pump()
    assert len(told) == 1
    assert all(isinstance(ask(rig, worker), Permit) for _ in range(POLICY.trials))


def test_refused_trials_do_not_make_a_storm_of_questions():
    rig = Rig(eager=False)
    worker = rig.worker()
    fail(rig, worker)
    rig.pass_time(POLICY.open_for)
    for _ in range(200):
        ask(rig, worker)
    assert worker.board.stats().asked == POLICY.trials + 1


def test_breakers_that_say_nothing_are_forgotten_on_both_sides():
    rig = Rig(eager=False)
    worker = rig.worker()
    for number in range(50):
        worker.board.report(ask(rig, worker, f"target-{number}"), True)
    fail(rig, worker, "dead")
    rig.pump()
    assert rig.board.stats().targets == worker.board.stats().targets == 51
    rig.pass_time(80)
    assert rig.board.stats().targets == worker.board.stats().targets == 1
    rig.pass_time(700)
    assert rig.board.stats().targets == 0
    assert worker.board.view("dead").state == "closed"


def test_a_thousand_targets_of_four_workers_open_with_the_messages_of_one_batch():
    rig = Rig(eager=False)
    wires = [rig.worker() for _ in range(4)]
    names = [f"model-{number}" for number in range(1000)]
    for wire in wires:
        for name in names:
            wire.board.report(wire.board.admit(name, POLICY, print), False)
    rig.pump()
    assert all(len(wire.board.opened()) == 1000 for wire in wires)
