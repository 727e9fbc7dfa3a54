"""What a call reserves and settles, also where whoever keeps the accounts takes its time."""

import json
from collections.abc import Callable, Sequence
from typing import cast

import msgspec
import pytest

from antiphon.core.errors import ModelNotFound, UpstreamTimeout
from antiphon.core.ledger import FOREVER, Hold, Limit, Outcome, Standing, Then, Window
from antiphon.core.ports import Handle, Sink
from antiphon.core.types import Call
from antiphon.gateway import pipeline
from antiphon.gateway.exchange import Exchange
from antiphon.gateway.guarding import Guarding, ScopedRule
from antiphon.gateway.metering import LONGEST_ANSWER, USUAL_ANSWER, Metering
from antiphon.governance.limits import Limits, Measure, Rule
from antiphon.governance.prices import MILLION, Price
from antiphon.storage.memory_ledger import MemoryLedger
from antiphon.testing import Body, Event, FakeModel, Hang
from tests.unit.gateway.test_pipeline import BODY, STREAMED, Door
from tests.unit.governance.guarding.patterns import DIGITS
from tests.unit.governance.guarding.patterns import rule as guardrail_rule

MINUTE = Window("sliding", 60)
PRICE = Price(2 * MILLION, 3 * MILLION)


class LateLedger(MemoryLedger):
    """Says what became of a reservation only when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.answers: list[Callable[[], None]] = []
        self.late = True

    def reserve(self, holds: Sequence[Hold], then: Then) -> Outcome | None:  # type: ignore[override]
        outcome = super().reserve(holds, then)
        if not self.late:
            return outcome
        self.answers.append(lambda: then(outcome))
        return None


class Asked:
    """A replica that notes that it was asked, as real ones do."""

    name = "fake/m"

    def __init__(self, model: FakeModel) -> None:
        self._model = model

    def start(self, call: Call, sink: Sink) -> Handle:
        call.trail.append(self.name)
        return self._model.start(call, sink)


class Metered:
    """A door with limits on the calls of everybody."""

    def __init__(self, model: FakeModel, ledger: MemoryLedger | None = None, price: Price = PRICE, **capacities: int) -> None:
        self.ledger = ledger or MemoryLedger()
        self.rules = [Rule("everyone", "", _measure(name), Limit(number, _window(name))) for name, number in capacities.items()]
        self.meter = Metering(Limits(self.rules), {"fake/m": price}, _names, lambda _: price, lambda: self.ledger, "USD")
        self.model = model
        self.door = Door(Asked(model), reserve=self.meter.reserve, settle=self.meter.settle)

    def standing(self, measure: str) -> Standing:
        found: list[Standing | None] = []
        window = _window(measure)
        self.ledger.look(f"everyone:/{measure}/{window.code}", window, found.append)
        assert found[0] is not None
        return found[0]

    def used(self, measure: str) -> int:
        standing = self.standing(measure)
        assert standing.reserved == 0
        return standing.settled


def _names(model: str) -> tuple[str, ...]:
    if model != "m":
        raise ModelNotFound
    return (model,)


def _measure(name: str) -> Measure:
    return msgspec.convert(name, Measure)


def _window(measure: str) -> Window:
    return FOREVER if measure in ("money", "concurrency") else MINUTE


def body(**more: object) -> bytes:
    return json.dumps({**json.loads(BODY), **more}).encode()


def told(prompt: int, completion: int) -> Body:
    return Body(
        {
            "choices": [{"index": 0, "message": {"content": "hi"}}],
            "usage": {"prompt_tokens": prompt, "completion_tokens": completion},
        }
    )


def test_what_was_used_is_settled_at_every_account() -> None:
    metered = Metered(
        FakeModel().script(told(10, 20)), requests=5, tokens=5000, input_tokens=500, output_tokens=5000, concurrency=1, money=10**9
    )
    event = metered.door.call()
    assert event is not None
    assert (event.cost, event.estimated) == (10 * 2 + 20 * 3, False)
    measures = ("requests", "tokens", "input_tokens", "output_tokens", "concurrency", "money")
    assert [metered.used(measure) for measure in measures] == [1, 30, 10, 20, 0, 80]


def test_while_a_call_runs_it_holds_the_most_that_it_may_use() -> None:
    metered = Metered(FakeModel().script(Hang()), tokens=10**6, output_tokens=10**6, money=10**9)
    text = body(max_tokens=100, n=3)
    metered.door.call(text)
    assert metered.standing("output_tokens").reserved == 300
    assert metered.standing("tokens").reserved == 300 + len(text) // 4 + 1
    assert metered.standing("money").reserved == (len(text) + 64) * 2 + 300 * 3
    metered.door.listener.gone()
    assert metered.used("output_tokens") == 0


def test_a_call_without_a_bound_is_taken_to_be_usual_and_told_to_stop_where_it_costs() -> None:
    metered = Metered(FakeModel().script(Hang(), times=None), output_tokens=10**6)
    metered.door.call()
    assert metered.standing("output_tokens").reserved == USUAL_ANSWER
    assert metered.model.calls[0].call.body == BODY
    costly = Metered(FakeModel().script(Hang()), money=10**9)
    costly.door.call()
    assert json.loads(costly.model.calls[0].call.body)["max_tokens"] == LONGEST_ANSWER
    known = Metered(FakeModel().script(Hang()), price=Price(MILLION, MILLION, max_output=50), money=10**9)
    known.door.call()
    assert known.model.calls[0].call.body == BODY
    assert known.standing("money").reserved == len(BODY) + 64 + 50


def test_a_call_that_failed_before_its_answer_counts_and_costs_nothing() -> None:
    metered = Metered(FakeModel().fail(UpstreamTimeout()), requests=5, tokens=5000, money=10**9)
    metered.door.call()
    assert [metered.used("requests"), metered.used("tokens"), metered.used("money")] == [1, 0, 0]


def test_a_call_to_no_model_uses_nothing() -> None:
    metered = Metered(FakeModel(), requests=5)
    metered.door.call(body(model="none"))
    assert (metered.door.status, metered.used("requests")) == (404, 0)


def test_an_answer_that_breaks_off_is_charged_by_its_events() -> None:
    piece = Event({"choices": [{"index": 0, "delta": {"content": "hi"}}]})
    metered = Metered(FakeModel().script(piece, piece, piece, Hang()), output_tokens=5000, input_tokens=500, money=10**9)
    metered.door.call(STREAMED)
    metered.door.listener.gone()
    event = metered.door.heard.events[-1]
    prompt = len(STREAMED) // 4 + 1
    assert event.estimated
    assert (metered.used("output_tokens"), metered.used("input_tokens")) == (3, prompt)
    assert metered.used("money") == event.cost == prompt * 2 + 3 * 3


@pytest.mark.parametrize(("capacity", "status"), [(1, 200), (0, 429)])
def test_a_call_waits_for_whoever_keeps_the_accounts(capacity: int, status: int) -> None:
    ledger = LateLedger()
    metered = Metered(FakeModel().script(told(1, 1)), ledger, requests=capacity)
    metered.door.call()
    assert (metered.model.calls, metered.door.written) == ([], b"")
    ledger.answers.pop()()
    assert metered.door.status == status
    assert metered.used("requests") == capacity
    assert len(metered.door.heard.events) == 1


def test_a_caller_who_leaves_while_it_waits_holds_nothing() -> None:
    ledger = LateLedger()
    metered = Metered(FakeModel(), ledger, concurrency=1)
    metered.door.call()
    metered.door.listener.gone()
    ledger.answers.pop()()
    assert metered.model.calls == []
    assert metered.used("concurrency") == 0
    ledger.late = False
    metered.door.call()
    assert metered.door.status == 200


def test_refusals_name_the_limit_and_say_when_there_is_room() -> None:
    metered = Metered(FakeModel().script(told(1, 1), times=None), requests=1)
    metered.door.call()
    metered.door.call()
    error = json.loads(metered.door.body)["error"]
    assert error["code"] == "rate_limit_exceeded"
    assert "everyone together may have 1 call a minute" in error["message"]
    assert 0 < int(metered.door.headers[b"retry-after"]) <= 61


def test_a_budget_says_what_the_call_could_cost() -> None:
    metered = Metered(FakeModel(), price=Price(0, 2 * MILLION, max_output=3000), money=5000)
    metered.door.call()
    error = json.loads(metered.door.body)["error"]
    assert error["code"] == "insufficient_quota"
    assert "may spend 0.005 USD" in error["message"]
    assert "can cost up to 0.006 USD" in error["message"]
    assert b"retry-after" not in metered.door.headers


@pytest.mark.parametrize(
    "decoy", [{"max_output_tokens": 1}, {"options": {"num_predict": 1}}, {"max_tokens": 1, "max_completion_tokens": 5000}]
)
def test_only_the_bounds_of_its_own_dialect_bound_a_call_and_the_largest_of_them(decoy: dict[str, object]) -> None:
    metered = Metered(FakeModel().script(Hang()), price=Price(0, MILLION), money=10**9)
    metered.door.call(body(**decoy))
    bound = 5000 if "max_completion_tokens" in decoy else LONGEST_ANSWER
    assert metered.standing("money").reserved == bound


@pytest.mark.parametrize("bound", [0, -1, "5", [], 1e30, True])
def test_a_bound_that_is_none_is_refused_where_it_matters(bound: object) -> None:
    metered = Metered(FakeModel(), price=Price(0, MILLION), money=10**9)
    metered.door.call(body(max_tokens=bound))
    assert metered.door.status == 400
    assert json.loads(metered.door.body)["error"]["param"] == "max_tokens"
    assert metered.used("money") == 0


@pytest.mark.parametrize("more", [{"max_tokens": 2**53}, {"max_tokens": 10**18}, {"max_tokens": 100, "n": 2**62}])
def test_a_call_that_could_cost_more_than_can_be_counted_finds_no_budget(more: dict[str, object]) -> None:
    metered = Metered(FakeModel(), money=10**9, tokens=5000)
    metered.door.call(body(**more))
    assert (metered.door.status, json.loads(metered.door.body)["error"]["code"]) == (429, "insufficient_quota")


def test_a_usage_that_cannot_be_counted_is_settled_as_the_most_that_can() -> None:
    metered = Metered(FakeModel().script(told(2**53 - 1, 2**53 - 1)), money=10**9, concurrency=1, tokens=5000)
    metered.door.call()
    assert (metered.used("concurrency"), metered.used("tokens")) == (0, 2**53 - 1)
    assert len(metered.door.heard.events) == 1


def test_a_stage_that_trips_at_the_end_costs_the_next_not_its_turn() -> None:
    def trips(_: Exchange) -> None:
        raise KeyError("a fault")

    door = Door(FakeModel().script(told(1, 1)), settle=trips)
    assert door.call() is not None
    assert [type(error) for error in door.reported] == [KeyError]


def test_long_calls_are_renewed() -> None:
    metered = Metered(FakeModel().script(Hang()), LateLedger(), concurrency=1)
    renewed: list[int] = []
    metered.ledger.renew = lambda reservation: renewed.append(reservation.id)  # type: ignore[method-assign]
    metered.door.call()
    exchange = metered.door.listener
    metered.meter.renew([exchange])
    assert renewed == []  # it has no reservation yet
    cast("LateLedger", metered.ledger).answers.pop()()
    metered.meter.renew([exchange])
    assert len(renewed) == 1


def test_an_answer_that_a_guardrail_stops_is_charged_for_what_the_model_had_said() -> None:
    deltas = [Event({"choices": [{"index": 0, "delta": {"content": each}}]}) for each in ("it ", "is ", "123", " so", "." * 40)]
    metered = Metered(FakeModel().script(*deltas, Hang()), output_tokens=10**6, money=10**9)
    rules = [ScopedRule(guardrail_rule(DIGITS, "block"))]
    guards = Guarding(rules, _names)
    metered.door.pipeline = metered.door.piped(
        guard=guards.look,
        choose=pipeline.together(guards.guard, metered.door.runs["choose"]),
    )
    event = metered.door.call(STREAMED)
    assert event is not None
    assert (event.error, event.estimated, event.usage.completion_tokens) == ("content_blocked", True, 5)
    assert metered.used("output_tokens") == 5
