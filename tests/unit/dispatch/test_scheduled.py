"""A deployment behind a scheduler, as one Model: it waits, asks, passes on one answer, and lets go of the rest."""

import asyncio

import msgspec
import pytest

from antiphon.core.errors import (
    AntiphonError,
    CannotBeOnTime,
    QueueFull,
    UpstreamBroken,
    UpstreamRefused,
    UpstreamUnreachable,
    WaitedTooLong,
)
from antiphon.core.types import Call
from antiphon.dispatch.alarms import Alarms
from antiphon.dispatch.definition import Definition
from antiphon.dispatch.describe import Describer
from antiphon.dispatch.desk import LocalDesk, Waiter
from antiphon.dispatch.promise import Promise
from antiphon.dispatch.scheduled import Scheduled
from antiphon.dispatch.unanswered import refusal, speaks_against
from antiphon.scheduling.info import ReplicaInfo
from antiphon.scheduling.job import Dispatch, Job, Refuse
from antiphon.scheduling.settings import LimitSettings, QueueSettings, RetrySettings, SchedulerSettings
from antiphon.testing import Cut, Delay, Done, Event, FakeClock, FakeModel, Hang, RecordingSink, model_contract

CALL = Call(
    "id", "chat/completions", "m", b'{"model":"m","stream":true,"messages":[{"role":"user","content":"hi there"}]}', stream=True
)
SETTINGS = SchedulerSettings(
    queue=QueueSettings(max_waiting=2, max_wait=(5.0, 5.0, 5.0)), retries=RetrySettings(attempts=2, budget=1.0)
)
TEXT = Event({"choices": [{"index": 0, "delta": {"content": "half"}}]})


class Timer:
    def cancel(self) -> None:
        """A bell too many does no harm."""


class Deployment:
    """Some models with one place each, behind a desk, on a clock of their own."""

    def __init__(self, *models: FakeModel, places: int = 1) -> None:
        self.clock = FakeClock()
        limits = LimitSettings(places, 1, adaptive=False)
        infos = tuple(ReplicaInfo(model.name, limits=limits) for model in models)
        definition = Definition("m", infos, (("least-tokens", 1.0),), SETTINGS)
        alarms = Alarms(self.clock, self._call_later)
        self.desk = LocalDesk(definition.scheduler(self.clock.monotonic()), self.clock, alarms)
        describe = Describer(1, (Promise(), Promise(), Promise()), {})
        self.model = Scheduled("m", models, self.desk, self.clock, describe)

    def _call_later(self, delay: float, ring: object) -> Timer:
        self.clock.call_later(delay, ring)
        return Timer()

    def ask(self) -> RecordingSink:
        sink = RecordingSink()
        self.model.start(CALL, sink)
        return sink


@pytest.mark.parametrize(
    "error", [UpstreamUnreachable(), UpstreamRefused(503, b"{}"), UpstreamRefused(429, b"{}", retry_after=9.0)]
)
def test_another_replica_answers_when_one_fails_before_text(error: AntiphonError) -> None:
    bad, good = FakeModel("a").fail(error, times=None), FakeModel("b").chat("hello", times=None)
    deployment = Deployment(bad, good)
    assert {deployment.ask().text for _ in range(12)} == {"hello"}
    assert 1 <= len(bad.calls) < 6


def test_a_call_that_is_wrong_is_asked_nowhere_else() -> None:
    error = UpstreamRefused(400, b"{}")
    models = [FakeModel(name).fail(error) for name in "ab"]
    assert Deployment(*models).ask().error is error
    assert sum(len(model.calls) for model in models) == 1


def test_nobody_else_is_asked_after_text() -> None:
    models = [FakeModel(name).script(TEXT, Delay(1), Cut()) for name in "ab"]
    sink = Deployment(*models).ask()
    assert sink.text == "half"
    for model in models:
        model.clock.advance(1)
    assert isinstance(sink.error, UpstreamBroken)
    assert sum(len(model.calls) for model in models) == 1


def test_who_waits_goes_when_a_place_is_free() -> None:
    model = FakeModel("a").script(TEXT, Delay(1), Done()).chat("second")
    deployment = Deployment(model)
    first, second = deployment.ask(), deployment.ask()
    assert (len(model.calls), second.text) == (1, "")
    model.clock.advance(1)
    assert (first.ended, second.text) == (True, "second")


def test_who_leaves_the_queue_is_never_sent() -> None:
    model = FakeModel("a").script(Hang(), times=None)
    deployment = Deployment(model)
    first = deployment.model.start(CALL, RecordingSink())
    second = deployment.model.start(CALL, RecordingSink())
    second.cancel("left")
    first.cancel("left")
    assert (len(model.calls), model.running, deployment.desk.busy) == (1, 0, False)


def test_the_queue_and_the_wait_are_bounded() -> None:
    model = FakeModel("a").script(Hang(), times=None)
    deployment = Deployment(model)
    deployment.ask()
    waiting = [deployment.ask() for _ in range(2)]
    assert isinstance(deployment.ask().error, QueueFull)
    deployment.clock.advance(5.1)
    assert [type(sink.error) for sink in waiting] == [WaitedTooLong, WaitedTooLong]


def test_what_was_decided_is_told_of_the_call() -> None:
    models = [FakeModel(name).chat("hello", times=None) for name in "abc"]
    call = msgspec.structs.replace(CALL, routings=[])
    Deployment(*models).model.start(call, RecordingSink())
    (routing,) = call.routings
    assert (routing.route, routing.replica in "abc", routing.hedged, routing.degraded) == ("m", True, False, "")
    assert routing.candidates.keys() == {"a", "b", "c"}
    assert all(0 <= score <= 1 for score in routing.candidates.values())
    assert routing.candidates[routing.replica] == max(routing.candidates.values())


class HedgingDesk:
    """Has two replicas asked at once."""

    def arrived(self, job: Job, waiter: Waiter) -> None:
        self._waiter = waiter
        waiter.dispatch(Dispatch(job, 0), 0.0)
        waiter.dispatch(Dispatch(job, 1, hedge=True), 0.1)

    def first_token(self, job_id: int, replica: int) -> None:
        self._waiter.withdraw(1 - replica)

    def finished(self, job_id: int, replica: int, output_tokens: int) -> None: ...
    def failed(self, job_id: int, replica: int, *, retryable: bool, blame: bool, unreachable: bool, retry_after: float) -> None: ...
    def gone(self, job_id: int) -> None: ...


def test_of_a_hedged_call_the_one_that_answers_is_named() -> None:
    slow, slower = FakeModel("a").script(Delay(1), TEXT, Done()), FakeModel("b").script(Hang())
    describe = Describer(1, (Promise(), Promise(), Promise()), {})
    call = msgspec.structs.replace(CALL, trail=["a", "b"], routings=[])
    Scheduled("m", (slow, slower), HedgingDesk(), FakeClock(), describe).start(call, RecordingSink())
    assert call.target == "b", "the one that was asked last, as long as none answers"
    slow.clock.advance(1)
    (routing,) = call.routings
    assert (routing.replica, routing.hedged, call.target, slower.running) == ("a", True, "a", 0)


def test_a_call_that_waited_tells_for_how_long() -> None:
    model = FakeModel("a").script(TEXT, Delay(1), Done()).chat("second")
    deployment = Deployment(model)
    deployment.ask()
    call = msgspec.structs.replace(CALL, routings=[])
    deployment.model.start(call, RecordingSink())
    assert call.routings[0].replica == ""
    deployment.clock.advance(0.75)
    model.clock.advance(1)
    (routing,) = call.routings
    assert (routing.replica, routing.waited, routing.candidates) == ("a", 0.75, {})


@pytest.mark.parametrize(
    ("reason", "kind"), [("late", CannotBeOnTime), ("waited", WaitedTooLong), ("queue_full", QueueFull), ("shed", QueueFull)]
)
def test_each_refusal_has_its_error(reason: str, kind: type[AntiphonError]) -> None:
    error = refusal(Refuse(Job(1, 0.0, 1, 1), reason, 7.0))
    assert (type(error), error.retry_after) == (kind, 7.0)


@pytest.mark.parametrize(("status", "against"), [(400, False), (429, False), (401, True), (404, True), (500, True), (529, True)])
def test_what_speaks_against_a_replica(status: int, against: bool) -> None:
    assert speaks_against(UpstreamRefused(status, b"{}")) is against


def test_it_keeps_the_contract_of_a_model() -> None:
    def make() -> Scheduled:
        return Deployment(FakeModel("a").chat("one", " two", " three", times=None)).model

    asyncio.run(model_contract.check_model(make))


def test_it_keeps_the_contract_where_it_cannot_answer() -> None:
    def make() -> Scheduled:
        return Deployment(FakeModel("a").fail(UpstreamRefused(400, b"{}"), times=None)).model

    asyncio.run(model_contract.check_failing_model(make))
