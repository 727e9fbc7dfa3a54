"""Models whose answers are kept: what a call continues, what is kept of it, and what happens where that cannot be done."""

import json
from typing import Any

import msgspec
import pytest

from antiphon.core.errors import (
    CapacityError,
    InternalError,
    InvalidRequest,
    PreviousResponseNotFound,
    UnsupportedParameter,
    UpstreamBroken,
)
from antiphon.core.response_store import StoredResponse
from antiphon.core.types import Call, Principal, Usage
from antiphon.execution.wire import chat_answer as neutral
from antiphon.execution.wire.responses import chat as responses
from antiphon.execution.wire.responses import conversation, ids
from antiphon.gateway.openai.conversations import Remembered
from antiphon.testing import Body, Cut, Delay, Event, Fail, FakeModel, FakeResponseStore, Header, RecordingSink
from antiphon.transport import sse

HELLO = [neutral.Began(), neutral.TextDelta(0, "Hello"), neutral.Finished(0, "stop"), neutral.Ended()]
ALICE, BOB = Principal("alice"), Principal("bob")


def call(principal: Principal = ALICE, **fields: Any) -> Call:
    body = {"model": "m", "input": "hi", **fields}
    return Call("r1", "responses", "m", json.dumps(body).encode(), bool(fields.get("stream")), False, "responses", principal, [])


def written(asked: Call) -> bytes:
    """What a translated model answers."""
    request = responses.decode_request(asked.body)
    return responses.AnswerWriter(request).write(HELLO) if asked.stream else responses.write_whole(HELLO, request)


def says_hello(asked: Call) -> list[Any]:
    if not asked.stream:
        return [Header("content-type", "application/json"), Body(written(asked))]
    events = [Event(event.data, event.event) for event in sse.parse(written(asked))]
    return [Header("content-type", "text/event-stream"), *events]


class Door:
    """A remembered model, and what was asked of the one behind it."""

    def __init__(self, store: FakeResponseStore | None = None, *script: Any) -> None:
        self.store = store
        self.model = FakeModel("p/m")
        if script:
            self.model.script(*script)
        else:
            self.model.script(says_hello, times=None)
        self.remembered = Remembered(self.model, store)

    def ask(self, asked: Call) -> RecordingSink:
        sink = RecordingSink()
        self.handle = self.remembered.start(asked, sink)
        sink.check()
        return sink

    @property
    def asked(self) -> dict[str, Any]:
        """The last request that the model saw."""
        told: dict[str, Any] = json.loads(self.model.calls[-1].call.body)
        return told


def answered(sink: RecordingSink) -> dict[str, Any]:
    """The response that a caller has got."""
    assert sink.ended
    if sink.body.startswith(b"event:"):
        last: dict[str, Any] = json.loads(sse.parse(sink.body)[-1].data)["response"]
        return last
    told: dict[str, Any] = json.loads(sink.body)
    return told


@pytest.mark.parametrize("stream", [False, True])
def test_a_response_is_kept_and_says_so(stream: bool) -> None:
    store = FakeResponseStore()
    response = answered(Door(store).ask(call(stream=stream)))
    assert response["store"] is True
    kept = store.responses["alice", response["id"]]
    assert json.loads(kept.response) == response
    assert kept.previous == ""
    (item,) = json.loads(kept.input)
    assert (item["role"], item["content"][0]["text"]) == ("user", "hi")


@pytest.mark.parametrize("stream", [False, True])
def test_a_call_that_does_not_want_it_is_not_kept(stream: bool) -> None:
    store = FakeResponseStore()
    assert answered(Door(store).ask(call(stream=stream, store=False)))["store"] is False
    assert store.responses == {}


@pytest.mark.parametrize("stream", [False, True])
def test_the_last_event_waits_until_the_answer_is_kept(stream: bool) -> None:
    store = FakeResponseStore()
    store.late = True
    sink = Door(store).ask(call(stream=stream))
    assert not sink.ended
    assert b"response.completed" not in sink.body
    assert bool(sink.frames) is stream
    store.answer()
    sink.check()
    assert answered(sink)["store"] is True


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_that_cannot_be_kept_goes_out_and_says_so(stream: bool) -> None:
    store = FakeResponseStore()
    store.down = True
    response = answered(Door(store).ask(call(stream=stream)))
    assert (response["status"], response["store"]) == ("completed", False)


def test_a_conversation_goes_on() -> None:
    store = FakeResponseStore()
    door = Door(store)
    first = answered(door.ask(call(instructions="be brief")))
    second = answered(door.ask(call(input="and you?", previous_response_id=first["id"])))
    assert second["previous_response_id"] == first["id"]
    third = answered(door.ask(call(input=[{"role": "user", "content": "so?"}], previous_response_id=second["id"], stream=True)))
    assert third["previous_response_id"] == second["id"]
    said = [(item["role"], item["content"]) for item in door.asked["input"]]
    assert [role for role, _ in said] == ["user", "assistant", "user", "assistant", "user"]
    assert [part[0]["text"] for _, part in said[:-1]] == ["hi", "Hello", "and you?", "Hello"]
    assert "instructions" not in door.asked
    assert len(json.loads(store.responses["alice", third["id"]].input)) == 1


def test_one_may_go_on_in_several_ways() -> None:
    door = Door(FakeResponseStore())
    first = answered(door.ask(call()))
    for words in ("one", "two"):
        door.ask(call(input=words, previous_response_id=first["id"]))
        assert len(door.asked["input"]) == 3


def test_nobody_goes_on_from_what_another_key_asked() -> None:
    door = Door(FakeResponseStore())
    first = answered(door.ask(call(ALICE)))
    sink = door.ask(call(BOB, previous_response_id=first["id"]))
    assert isinstance(sink.error, PreviousResponseNotFound)
    assert len(door.model.calls) == 1


def test_items_that_are_named_are_put_in_their_place() -> None:
    door = Door(FakeResponseStore())
    first = answered(door.ask(call()))
    ((asked,), _) = conversation.asked_and_answered(door.store.responses["alice", first["id"]].input, b"{}")
    asked = msgspec.json.decode(asked)["id"]
    given = [{"type": "item_reference", "id": asked}, {"id": first["output"][0]["id"]}, {"role": "user", "content": "so?"}]
    second = answered(door.ask(call(input=given)))
    assert [item["role"] for item in door.asked["input"]] == ["user", "assistant", "user"]
    assert [item["id"] for item in json.loads(door.store.responses["alice", second["id"]].input)][:2] == [
        asked,
        first["output"][0]["id"],
    ]


def test_an_item_that_is_not_kept() -> None:
    sink = Door(FakeResponseStore()).ask(call(input=[{"type": "item_reference", "id": ids.of_output("msg", ids.new(), 0)}]))
    assert isinstance(sink.error, InvalidRequest)
    assert sink.error.param == "input[0].id"


def test_what_a_model_server_keeps_is_its_own_affair() -> None:
    store = FakeResponseStore()
    theirs = {"id": "resp_68af", "status": "completed", "output": []}
    whole = Door(store, Header("content-type", "application/json"), Body(theirs))
    asked = call(previous_response_id="resp_1")
    assert json.loads(whole.ask(asked).body) == theirs
    assert whole.model.calls[0].call.body == asked.body
    last = Event({"type": "response.completed", "sequence_number": 1, "response": theirs}, "response.completed")
    streamed = Door(store, Header("content-type", "text/event-stream"), last).ask(call(stream=True))
    assert streamed.body == b"event: response.completed\ndata: " + json.dumps(last.data, separators=(",", ":")).encode() + b"\n\n"
    assert store.responses == {}


@pytest.mark.parametrize("odd", [b"{broken", b"[]", b"{}", b'{"id": 7}', b'{"type": "x", "sequence_number": "x", "response": 7}'])
def test_whatever_a_model_server_calls_a_response_goes_on_as_it_came(odd: bytes) -> None:
    for name in ("response.created", "response.completed"):
        streamed = Door(FakeResponseStore(), Header("content-type", "text/event-stream"), Event(odd, name))
        assert streamed.ask(call(stream=True)).body == b"event: %b\ndata: %b\n\n" % (name.encode(), odd)
    broken = Door(FakeResponseStore(), Header("content-type", "text/event-stream"), Event(odd, "response.created"), Cut())
    assert broken.ask(call(stream=True)).body.count(b"event:") == 1
    whole = Door(FakeResponseStore(), Header("content-type", "application/json"), Body(odd))
    assert whole.ask(call()).body == odd


@pytest.mark.parametrize("fields", [{"previous_response_id": ids.new()}, {"previous_response_id": "x", "input": 7}, {"store": 7}])
def test_what_is_wrong_with_a_conversation_is_told_before_any_model_is_asked(fields: dict[str, Any]) -> None:
    door = Door(FakeResponseStore())
    assert isinstance(door.ask(call(**fields)).error, InvalidRequest)
    assert door.model.calls == []


def test_without_a_store_nothing_is_kept_and_nothing_continued() -> None:
    door = Door(None)
    assert answered(door.ask(call()))["store"] is False
    assert isinstance(door.ask(call(store=True)).error, UnsupportedParameter)
    assert isinstance(door.ask(call(previous_response_id=ids.new())).error, PreviousResponseNotFound)
    named = door.ask(call(input=[{"type": "item_reference", "id": ids.of_output("msg", ids.new(), 0)}]))
    assert isinstance(named.error, InvalidRequest)


def test_a_store_that_does_not_answer_is_no_missing_response() -> None:
    door = Door(FakeResponseStore())
    first = answered(door.ask(call()))
    door.store.down = True
    for fields in ({"previous_response_id": first["id"]}, {"input": [{"id": first["output"][0]["id"]}]}):
        assert isinstance(door.ask(call(**fields)).error, CapacityError)


@pytest.mark.parametrize("kept", [b"", b"{broken", b"[]"])
def test_what_was_kept_and_cannot_be_read_ends_the_call(kept: bytes) -> None:
    door = Door(FakeResponseStore())
    first = answered(door.ask(call()))
    door.store.responses["alice", first["id"]] = StoredResponse(first["id"], kept)
    for fields in ({"previous_response_id": first["id"]}, {"input": [{"id": first["output"][0]["id"]}]}):
        assert isinstance(door.ask(call(**fields)).error, InternalError)


@pytest.mark.parametrize("late", ["what it continues", "what it names"])
def test_a_caller_who_leaves_early_asks_no_model(late: str) -> None:
    store = FakeResponseStore()
    door = Door(store)
    first = answered(door.ask(call()))
    store.late = True
    named = {"input": [{"id": first["output"][0]["id"]}]}
    sink = door.ask(call(**(named if late == "what it names" else {"previous_response_id": first["id"]})))
    door.handle.pause()
    door.handle.cancel("gone")
    store.answer()
    assert not sink.finished
    assert len(door.model.calls) == 1


def test_a_caller_who_leaves_while_the_answer_is_kept_hears_no_more() -> None:
    store = FakeResponseStore()
    store.late = True
    door = Door(store)
    sink = door.ask(call(stream=True))
    door.handle.cancel("gone")
    store.answer()
    assert not sink.finished


def test_cancelling_and_slowness_reach_the_model() -> None:
    store = FakeResponseStore()
    door = Door(store, Header("content-type", "text/event-stream"), Event({}), Delay(1.0), Event({}))
    door.ask(call(stream=True))
    paused = []
    for turn in (door.handle.pause, door.handle.resume):
        turn()
        paused.append(door.model.calls[0].paused)
    assert paused == [True, False]
    door.handle.cancel("gone")
    assert door.model.calls[0].cancelled == "gone"


def test_a_caller_who_is_slow_from_the_beginning_is_waited_for() -> None:
    store = FakeResponseStore()
    door = Door(store)
    first = answered(door.ask(call()))
    store.late = True
    door.model.script(Delay(1.0), times=None)
    door.ask(call(previous_response_id=first["id"]))
    door.handle.pause()
    store.answer()
    assert door.model.calls[-1].paused


def test_a_stream_that_breaks_off_has_failed() -> None:
    request = responses.decode_request(call(stream=True).body)
    begun = [Event(event.data, event.event) for event in sse.parse(responses.AnswerWriter(request).write(HELLO[:2]))]
    store = FakeResponseStore()
    sink = Door(store, Header("content-type", "text/event-stream"), *begun, Cut()).ask(call(stream=True))
    assert isinstance(sink.error, UpstreamBroken)
    events = [json.loads(event.data) for event in sse.parse(sink.body)]
    assert events[-1]["type"] == "response.failed"
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert store.responses == {}


def test_errors_count_items_as_the_caller_does() -> None:
    door = Door(FakeResponseStore())
    first = answered(door.ask(call()))

    def refuse(place: str) -> RecordingSink:
        error = UnsupportedParameter(f"`{place}.content` is not supported: no", remedy=f"mend {place}", param=f"{place}.content")
        door.model._scripts.clear()
        door.model.script(Fail(error))
        return door.ask(call(previous_response_id=first["id"]))

    mine = refuse("input[2]").error
    assert (mine.param, str(mine)) == ("input[0].content", "`input[0].content` is not supported: no; mend input[0]")
    theirs = refuse("input[1]").error
    assert theirs.param == "previous_response_id"
    assert "previous_response_id: item 1" in str(theirs)


def test_usage_and_name_are_the_models() -> None:
    body = written(call())
    door = Door(FakeResponseStore(), Header("content-type", "application/json"), Body(body))
    assert door.remembered.name == "p/m"
    sink = door.ask(call())
    assert sink.usage is None or isinstance(sink.usage, Usage)
    stored = next(iter(door.store.responses.values()))
    assert isinstance(stored, StoredResponse)
