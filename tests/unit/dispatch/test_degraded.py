"""What answers in place of a route's main model, and how callers are told."""

import asyncio

import pytest

from antiphon.core.errors import AntiphonError, InvalidRequest, UpstreamBroken, UpstreamRefused
from antiphon.core.ports import Model
from antiphon.core.types import Call
from antiphon.dispatch.alarms import Alarms
from antiphon.dispatch.definition import Definition
from antiphon.dispatch.degraded import Ways
from antiphon.dispatch.describe import Describer
from antiphon.dispatch.desk import LocalDesk
from antiphon.dispatch.promise import Promise
from antiphon.dispatch.scheduled import Scheduled
from antiphon.scheduling.info import ReplicaInfo
from antiphon.scheduling.settings import DegradeSettings, LimitSettings, RetrySettings, SchedulerSettings
from antiphon.testing import Cut, Delay, Event, FakeClock, FakeModel, Hang, RecordingSink, model_contract

BODY = b'{"model":"m","stream":true,"messages":[{"role":"user","content":"hi there"}]}'
TEXT = Event({"choices": [{"index": 0, "delta": {"content": "half"}}]})
DOWN = UpstreamRefused(503, b"{}")


def call(endpoint: str = "chat/completions") -> Call:
    return Call("id", endpoint, "m", BODY, stream=True, trail=[])


class Timer:
    def cancel(self) -> None:
        """A bell too many does no harm."""


class Route:
    """A main model, a lighter one and a fixed text."""

    def __init__(self, main: FakeModel, small: Model | None = None, template: Model | None = None) -> None:
        self.clock = FakeClock()
        infos = (ReplicaInfo(main.name, limits=LimitSettings(8, 1, adaptive=False)),)
        degrade = DegradeSettings(model=small is not None, template=template is not None, minimum_calls=4)
        settings = SchedulerSettings(retries=RetrySettings(attempts=1), degrade=degrade)
        definition = Definition("big", infos, (("least-tokens", 1.0),), settings)
        self.desk = LocalDesk(
            definition.scheduler(self.clock.monotonic()), self.clock, Alarms(self.clock, lambda _delay, _ring: Timer())
        )
        ways = Ways("small" if small is not None else "", template)
        ways.model = small
        self.model = Scheduled("big", (main,), self.desk, self.clock, Describer(1, (Promise(),) * 3, {}), ways)

    def ask(self, endpoint: str = "chat/completions") -> tuple[RecordingSink, str]:
        sink, asked = RecordingSink(), call(endpoint)
        self.model.start(asked, sink)
        return sink, asked.degraded


def test_a_call_that_fails_is_answered_by_the_lighter_model_and_says_so() -> None:
    route = Route(FakeModel("main").fail(DOWN), FakeModel("s").chat("light"))
    sink, told = route.ask()
    assert (sink.text, told) == ("light", "model=small; reason=failed; score=1.00")
    assert not route.desk.busy


def test_a_sick_route_asks_the_text_and_tells_the_score() -> None:
    route = Route(FakeModel("main").fail(DOWN, times=None), None, FakeModel("t").chat("sorry", times=None))
    told = [route.ask()[1] for _ in range(8)]
    assert told[:4] == ["answer=template; reason=failed; score=1.00"] * 3 + ["answer=template; reason=failed; score=0.00"]
    assert told[-1] == "answer=template; reason=health; score=0.00"


def test_the_text_answers_where_the_lighter_model_fails_too() -> None:
    route = Route(FakeModel("main").fail(DOWN), FakeModel("s").fail(InvalidRequest("no tools")), FakeModel("t").chat("sorry"))
    sink, told = route.ask()
    assert (sink.text, told) == ("sorry", "answer=template; reason=failed; score=1.00")


def test_where_nothing_is_left_the_last_error_is_told() -> None:
    error = UpstreamRefused(500, b"{}")
    sink, told = Route(FakeModel("main").fail(DOWN), FakeModel("s").fail(error)).ask()
    assert (sink.error, told) == (error, "model=small; reason=failed; score=1.00")


def test_what_no_text_can_answer_is_not_answered_by_one() -> None:
    route = Route(FakeModel("main").fail(DOWN), FakeModel("s").fail(DOWN), FakeModel("t").chat("sorry"))
    sink, _ = route.ask("embeddings")
    assert sink.error is DOWN


def test_nothing_else_is_asked_after_text() -> None:
    small, text = FakeModel("s").script(TEXT, Delay(1), Cut()), FakeModel("t").chat("sorry")
    sink, _ = Route(FakeModel("main").fail(DOWN), small, text).ask()
    small.clock.advance(1)
    assert (sink.text, isinstance(sink.error, UpstreamBroken), len(text.calls)) == ("half", True, 0)


@pytest.mark.parametrize("error", [UpstreamRefused(400, b"{}"), UpstreamRefused(422, b"{}")])
def test_a_call_that_is_wrong_is_asked_nowhere_else(error: AntiphonError) -> None:
    small = FakeModel("s").chat("light")
    sink, told = Route(FakeModel("main").fail(error), small).ask()
    assert (sink.error, told, len(small.calls)) == (error, "", 0)


def test_who_leaves_ends_the_lighter_model_too() -> None:
    small = FakeModel("s").script(Hang())
    route = Route(FakeModel("main").fail(DOWN), small)
    sink = RecordingSink()
    handle = route.model.start(call(), sink)
    handle.pause()
    handle.resume()
    assert small.running == 1
    handle.cancel("left")
    assert (small.running, sink.ended, sink.error) == (0, False, None)


def test_it_keeps_the_contract_of_a_model_on_the_way_down() -> None:
    def make() -> Scheduled:
        return Route(FakeModel("main").fail(DOWN, times=None), FakeModel("s").chat("one", " two", " three", times=None)).model

    asyncio.run(model_contract.check_model(make))


def test_it_keeps_the_contract_where_nothing_answers() -> None:
    def make() -> Scheduled:
        refused = UpstreamRefused(400, b"{}")
        return Route(FakeModel("main").fail(DOWN, times=None), FakeModel("s").fail(refused, times=None)).model

    asyncio.run(model_contract.check_failing_model(make))
