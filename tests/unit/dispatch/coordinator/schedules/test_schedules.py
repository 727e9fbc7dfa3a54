"""Several workers, one queue: messages pass through the real frames, when the test lets them."""

import pytest

from antiphon.core.breaker_policy import BreakerPolicy
from antiphon.dispatch.alarms import Alarms
from antiphon.dispatch.coordinator.framing import frame, from_coordinator, from_workers
from antiphon.dispatch.coordinator.schedules.service import ScheduleService
from antiphon.dispatch.coordinator.schedules.worker_desks import WorkerDesks
from antiphon.dispatch.definition import Definition
from antiphon.scheduling.info import ReplicaInfo, Reported
from antiphon.scheduling.job import Job
from antiphon.scheduling.settings import DegradeSettings, LimitSettings, RetrySettings, SchedulerSettings
from antiphon.testing import FakeClock

DEFINITION = Definition(
    "m", (ReplicaInfo("a", limits=LimitSettings(1, 1, adaptive=False)),), (("least-tokens", 1.0),), SchedulerSettings()
)


DEGRADING = Definition(
    "m",
    (ReplicaInfo("a", limits=LimitSettings(8, 1, adaptive=False)),),
    (("least-tokens", 1.0),),
    SchedulerSettings(
        breaker=BreakerPolicy(minimum_calls=100),
        retries=RetrySettings(attempts=1),
        degrade=DegradeSettings(model=True, minimum_calls=4, probe=0.0),
    ),
)


class Timer:
    def cancel(self):
        """A bell too many does no harm."""


class Rig:
    """A coordinator that can go away and come back."""

    def __init__(self):
        self.clock = FakeClock()
        self.alarms = Alarms(self.clock, self._later)
        self.service = ScheduleService(self.clock, self.alarms)

    def _later(self, delay, ring):
        self.clock.call_later(delay, ring)
        return Timer()

    def restart(self):
        self.service = ScheduleService(self.clock, self.alarms)


class Worker:
    """A worker: the Link of its desks, and the Peer at the coordinator."""

    def __init__(self, rig, definition=DEFINITION):
        self.rig = rig
        self.desks = WorkerDesks(rig.clock, rig.alarms)
        self.desks.attach(self)
        self.desk = self.desks.desk(definition)
        self.calls = {}
        self.peer = None

    def connect(self):
        self.up, self.down = from_workers(), from_coordinator()
        self.peer = Peer(self)
        self.desks.connected()

    def cut(self):
        peer, self.peer = self.peer, None
        self.desks.lost()
        self.rig.service.lost(peer)

    def send(self, message):
        for each in self.up.feed(frame(message)):
            self.rig.service.received(self.peer, each)

    def wake(self, delay):
        if self.peer is not None:
            self.desks.flush()

    def ask(self, number, tier=1):
        call = self.calls[number] = Waiting()
        self.desk.arrived(Job(number, self.rig.clock.monotonic(), 10, 10, tier), call)
        return call


class Peer:
    def __init__(self, worker):
        self.worker = worker

    def send(self, message):
        for each in self.worker.down.feed(frame(message)):
            self.worker.desks.received(each)


class Waiting:
    """What a call was told."""

    def __init__(self):
        self.told = []

    def dispatch(self, decision, waited):
        self.told.append("sent")

    def withdraw(self, replica):
        self.told.append("withdrawn")

    def refuse(self, decision):
        self.told.append(decision.reason)

    def degrade(self, decision):
        self.told.append((decision.way, decision.reason, decision.score))


@pytest.fixture
def rig():
    return Rig()


@pytest.fixture
def workers(rig):
    made = [Worker(rig) for _ in range(2)]
    for worker in made:
        worker.connect()
    return made


def test_one_place_is_one_place_for_all(workers):
    first, second = workers
    a, b = first.ask(1), second.ask(1)
    assert (a.told, b.told) == (["sent"], [])
    first.desk.first_token(1, 0)
    first.desk.finished(1, 0, 5)
    assert b.told == ["sent"]


def test_the_higher_tier_goes_first_whoever_asks(workers):
    first, second = workers
    first.ask(1)
    low, high = first.ask(2, tier=2), second.ask(1, tier=0)
    first.desk.finished(1, 0, 5)
    assert (low.told, high.told) == ([], ["sent"])


@pytest.mark.parametrize("linked", [True, False])
def test_a_worker_hears_that_its_call_goes_down(rig, linked):
    first, second = (Worker(rig, DEGRADING) for _ in range(2))
    if linked:
        first.connect()
        second.connect()
    for number in range(4):
        call = first.ask(number)
        first.desk.failed(number, 0, retryable=True, blame=True, unreachable=False, retry_after=0.0)
        assert call.told == ["sent", ("model", "failed", 0.0 if number == 3 else 1.0)]
    probe, down = second.ask(1), second.ask(2)
    assert probe.told == ["sent"]
    assert down.told == ([("model", "health", 0.0)] if linked else ["sent"]), "they share what they know where they are connected"
    first.desks.keep(set())
    assert first.desks.states().routes == (), "it holds no call any more"


def test_what_a_worker_held_is_free_when_it_dies(workers):
    first, second = workers
    first.ask(1)
    waiting = second.ask(1)
    first.cut()
    assert waiting.told == ["sent"]


def test_who_waits_at_a_coordinator_that_goes_away_goes_on_alone(rig, workers):
    first, second = workers
    running, waiting = first.ask(1), first.ask(2)
    rig.restart()
    first.cut()
    assert running.told == ["sent"]
    assert waiting.told == ["sent"], "its own desk has a place"
    first.desk.finished(1, 0, 5)
    first.desk.finished(2, 0, 5)
    assert not first.desk.busy
    assert second is not first


def test_a_coordinator_that_is_back_is_told_what_runs(rig, workers):
    first, second = workers
    first.ask(1)
    first.desk.first_token(1, 0)
    rig.restart()
    for worker in workers:
        worker.cut()
        worker.connect()
    waiting = second.ask(1)
    assert waiting.told == [], "the only place is taken"
    first.desk.finished(1, 0, 5)
    assert waiting.told == ["sent"]


def test_a_call_that_failed_while_it_is_away_is_tried_again_alone(rig, workers):
    first, _ = workers
    call = first.ask(1)
    rig.restart()
    first.cut()
    first.desk.failed(1, 0, retryable=True, blame=True, unreachable=False, retry_after=0.0)
    assert call.told == ["sent", "sent"]


def test_who_leaves_is_forgotten_everywhere(rig, workers):
    first, second = workers
    first.ask(1)
    waiting = second.ask(1)
    second.desk.gone(1)
    first.desk.gone(1)
    assert waiting.told == []
    assert (rig.service.stats().jobs, first.desk.busy, second.desk.busy) == (0, False, False)


def test_desks_outlast_settings_that_leave_them_alone(rig, workers):
    first, _ = workers
    assert first.desks.desk(DEFINITION) is first.desk
    first.desks.keep({DEFINITION.key})
    assert first.desks.desk(DEFINITION) is first.desk
    first.ask(1)
    first.desks.keep(set())
    assert first.desks.desk(DEFINITION) is first.desk, "it has a call"
    first.desk.finished(1, 0, 5)
    first.desks.keep(set())
    assert first.desks.states().routes == ()
    assert rig.service.stats().schedules == 1, "the other worker's"


def test_refusals_come_back_to_who_asked(rig, workers):
    first, second = workers
    first.ask(1)
    waiting = second.ask(1)
    rig.clock.advance(31.0)
    assert waiting.told == ["waited"]


def others(rig):
    """What the coordinator knows of others' calls."""
    return [replica.others for route in rig.service.states().routes for replica in route.replicas]


def test_one_worker_asks_for_all_and_another_one_when_it_is_gone(rig, workers):
    first, second = workers
    assert (first.desk.polls(), second.desk.polls()) == (True, False)
    first.desk.told(0, Reported(5, 0), rig.clock.monotonic())
    assert others(rig) == [5]
    assert [replica.others for route in first.desks.states().routes for replica in route.replicas] == [None]
    first.cut()
    assert second.desk.polls()
    second.desk.told(0, Reported(7, 0), rig.clock.monotonic())
    assert others(rig) == [7]


def test_who_has_lost_the_coordinator_asks_for_itself_until_it_is_back(rig, workers):
    rig.restart()
    for worker in workers:
        worker.cut()
        assert worker.desk.polls()
        worker.desk.told(0, Reported(3, 0), rig.clock.monotonic())
        assert [replica.others for route in worker.desks.states().routes for replica in route.replicas] == [3]
    for worker in reversed(workers):
        worker.connect()
    assert [worker.desk.polls() for worker in workers] == [False, True]


def test_who_has_no_such_route_any_more_asks_no_more(rig, workers):
    first, second = workers
    first.desks.keep(set())
    assert second.desk.polls()
    first.desk = first.desks.desk(DEFINITION)
    assert not first.desk.polls(), "the other one goes on"


def test_each_schedule_has_somebody_who_asks(rig, workers):
    _, second = workers
    own = second.desks.desk(DEGRADING)
    assert own.polls()
    assert not second.desk.polls()


def test_calls_of_all_workers_are_known_when_a_replica_tells_its_load(rig, workers):
    first, second = workers
    first.ask(1)
    first.desk.told(0, Reported(1, 0), rig.clock.monotonic())
    assert others(rig) == [0]
    first.desk.finished(1, 0, 5)
    second.ask(1)
    second.desk.finished(1, 0, 5)
    first.desk.told(0, Reported(1, 0), rig.clock.monotonic())
    assert others(rig) == [0], "it counted before that call was over"
