"""The stages of a call: in order, and the closing ones once, whatever happens."""

from typing import Any

import h11
import pytest

from antiphon.core.errors import ClientGone, InvalidRequest, UpstreamBroken
from antiphon.core.events import CallFinished
from antiphon.core.ports import Handle, Model, Sink
from antiphon.core.types import Call, ModelCard, Routing
from antiphon.dispatch.directory import Directory
from antiphon.gateway import pipeline
from antiphon.gateway.access import Access
from antiphon.gateway.exchange import Exchange
from antiphon.gateway.key_table import KeyTable
from antiphon.gateway.keys import KeyRing
from antiphon.gateway.pipeline import InFlight, Pipeline
from antiphon.testing import Event, FakeModel, Hang
from antiphon.transport.server import Request, Responder

BODY = b'{"model":"m","messages":[{"role":"user","content":"hi"}]}'
PAUSES = (type(h11.NEED_DATA), type(h11.PAUSED))
STREAMED = BODY[:-1] + b',"stream":true}'


class Heard:
    """Observer that remembers."""

    def __init__(self) -> None:
        self.events: list[CallFinished] = []

    def call_finished(self, event: CallFinished) -> None:
        self.events.append(event)


class Door:
    """A pipeline in front of one model, and a caller's connection that remembers what was written to it."""

    draining = False
    date = b""

    def __init__(self, model: Model, **stages: pipeline.Run) -> None:
        self.heard = Heard()
        self.in_flight = InFlight()
        self.reported: list[BaseException] = []
        self.responder: Any = None
        self.written = b""
        self.ended = 0
        directory = Directory([(ModelCard("m", "test"), model)], {})
        self.runs: dict[str, pipeline.Run] = {
            "parse": pipeline.parse,
            "reserve": self.in_flight.reserve,
            "choose": pipeline.choose(directory),
            "execute": pipeline.execute,
            "settle": self.in_flight.settle,
            "tell": pipeline.tell(self.heard),
            **stages,
        }
        self.pipeline = self.piped()

    def piped(self, **stages: pipeline.Run) -> Pipeline:
        """The pipeline, with other stages."""
        return Pipeline({**self.runs, **stages}, lambda _, error: self.reported.append(error))

    def call(self, body: bytes = BODY, headers: dict[bytes, bytes] | None = None) -> CallFinished | None:
        request = Request("POST", b"/v1/chat/completions", headers or {}, body)
        self.written = b""
        self.responder = Responder(self, keep_alive=True)
        self.pipeline.run("chat/completions", request, self.responder)
        return self.heard.events[-1] if self.heard.events else None

    # -- what the caller sees

    @property
    def status(self) -> int:
        return self._read()[0].status_code

    @property
    def headers(self) -> dict[bytes, bytes]:
        return dict(self._read()[0].headers)

    @property
    def body(self) -> bytes:
        return b"".join(event.data for event in self._read()[1:] if isinstance(event, h11.Data))

    @property
    def listener(self) -> Any:
        return self.responder.listener

    def _read(self) -> list[Any]:
        client = h11.Connection(h11.CLIENT)
        client.send(h11.Request(method="POST", target="/", headers=[("host", "test"), ("content-length", "0")]))
        client.send(h11.EndOfMessage())
        client.receive_data(self.written)
        events = []
        while not isinstance(event := client.next_event(), PAUSES):
            events.append(event)
        return events

    # -- what a connection does

    @property
    def server(self) -> "Door":
        return self

    def write(self, data: bytes) -> None:
        self.written += data

    def writelines(self, pieces: tuple[bytes, ...]) -> None:
        self.written += b"".join(pieces)

    def answered(self, keep_alive: bool) -> None:
        self.ended += 1

    def abort(self) -> None:
        raise AssertionError("no answer is cut here")


def test_a_call_runs_through_all_stages_and_is_told_once() -> None:
    door = Door(FakeModel("p/m").chat("hello"))
    event = door.call(headers={b"x-request-id": b"mine"})
    assert (door.status, door.ended, door.in_flight.count) == (200, 1, 0)
    assert door.headers[b"x-request-id"] == b"mine"
    assert event is not None
    assert (event.id, event.model, event.status, event.error) == ("mine", "m", 200, "")
    assert event.usage.completion_tokens > 0
    assert len(door.heard.events) == 1


@pytest.mark.parametrize("body", [b"{", b'{"model":"unknown"}'])
def test_what_a_stage_refuses_is_answered_and_settled(body: bytes) -> None:
    door = Door(FakeModel("p/m"))
    event = door.call(body)
    assert door.status in (400, 404)
    assert (door.ended, door.in_flight.count, len(door.heard.events)) == (1, 0, 1)
    assert event is not None
    assert event.status == door.status


def test_a_bug_in_a_stage_takes_one_call_down_and_shows_nothing_of_itself() -> None:
    def broken(exchange: Exchange) -> None:
        raise KeyError("inner secret")

    door = Door(FakeModel("p/m"), choose=broken)
    event = door.call()
    assert (door.status, door.in_flight.count) == (500, 0)
    assert b"secret" not in door.body
    assert isinstance(door.reported[0], KeyError)
    assert event is not None
    assert event.error == "internal_error"


def test_a_failure_in_a_stream_ends_it_with_an_error_event() -> None:
    model = FakeModel("p/m").script(Event({"choices": [{"index": 0, "delta": {"content": "x"}}]}), Hang())
    door = Door(model)
    door.call(STREAMED)
    assert door.heard.events == []
    exchange = door.listener
    exchange.fail(UpstreamBroken("cut"))
    assert door.body.endswith(b"\n\n")
    assert b'data: {"error":' in door.body
    assert b"[DONE]" not in door.body
    assert [event.error for event in door.heard.events] == ["upstream_truncated"]


def test_a_caller_that_leaves_cancels_the_model_and_is_told_once() -> None:
    model = FakeModel("p/m").script(Hang())
    door = Door(model)
    door.call(STREAMED)
    assert door.in_flight.count == 1
    exchange = door.listener
    exchange.gone()
    exchange.close()
    assert model.calls[0].cancelled
    assert door.in_flight.count == 0
    assert [(event.status, event.error) for event in door.heard.events] == [(499, ClientGone.code)]


def test_a_slow_caller_pauses_the_model() -> None:
    model = FakeModel("p/m").script(Hang())
    door = Door(model)
    door.call(STREAMED)
    door.listener.pause()
    assert model.calls[0].paused
    door.listener.resume()
    assert not model.calls[0].paused


def test_an_unknown_stage_is_a_mistake_of_the_composition() -> None:
    with pytest.raises(ValueError, match="no such stage: guess"):
        Pipeline({"guess": pipeline.parse}, lambda *_: None)


class Decided:
    """A model of which a route decides: another replica than the last one asked answers."""

    name = "m"

    def start(self, call: Call, sink: Sink) -> Handle:
        routing = Routing("m", "a/m", 0.5, {"a/m": 0.75, "b/m": 0.5}, hedged=True)
        call.routings.extend([routing, Routing("small", degraded="model=small; reason=health; score=0.90")])
        call.trail.extend(["a/m", "b/m"])
        return FakeModel("m").chat("hi").start(call, sink)


def test_what_a_route_decided_is_told() -> None:
    door = Door(Decided())
    event = door.call()
    assert event is not None
    assert (event.route, event.target, event.attempts, event.hedged) == ("m", "a/m", 2, True)
    assert event.degraded == "model=small; reason=health; score=0.90"
    assert door.headers[b"x-antiphon-degraded"] == event.degraded.encode()
    assert door.headers[b"x-antiphon-model"] == b"a/m"


def test_without_a_route_there_is_nothing_of_it() -> None:
    door = Door(FakeModel("m").chat("hi"))
    event = door.call()
    assert event is not None
    assert (event.route, event.candidates, event.hedged, event.degraded) == ("", {}, False, "")
    assert b"x-antiphon-degraded" not in door.headers


def test_keys_tell_whose_call_it_is() -> None:
    door = Door(FakeModel("p/m"), identify=Access(KeyRing(KeyTable.of_keys([("alice", "sk-a")])), None).identify)
    event = door.call(headers={b"authorization": b"Bearer sk-a"})
    assert event is not None
    assert event.principal == "alice"
    for wrong in (b"", b"Bearer sk-b", b"Basic sk-a", b"Bearer", b"Bearer sk-a, Bearer sk-a"):
        door.call(headers={b"authorization": wrong})
        assert door.status == 401
        assert b"sk-" not in door.body


@pytest.mark.parametrize("given", [b"", b"x" * 200, b"a\nb", "ü".encode(), b"a\tb"])
def test_a_request_id_that_cannot_be_used_is_replaced(given: bytes) -> None:
    door = Door(FakeModel("p/m"))
    event = door.call(headers={b"x-request-id": given})
    assert event is not None
    assert event.id.startswith("req_")


def test_an_invalid_request_error_keeps_its_field() -> None:
    def refuse(exchange: Exchange) -> None:
        raise InvalidRequest("no", param="messages[0]", retry_after=1.2)

    door = Door(FakeModel("p/m"), choose=refuse)
    door.call()
    assert b'"param":"messages[0]"' in door.body
    assert door.headers[b"retry-after"] == b"2"
