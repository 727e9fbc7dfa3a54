"""The client against our own server, with a scripted provider behind it."""

import json
import time
from collections.abc import Callable
from typing import Any

import msgspec
import pydantic
import pytest

from antiphon.testing import Body, Cut, Done, Event, Hang, Header, MockUpstream
from antiphon_client import (
    APIConnectionError,
    AuthenticationError,
    BadRequestError,
    InternalServerError,
    NotFoundError,
    ParseError,
    RateLimitError,
    StreamError,
    function_tool,
)
from tests.integration.client.callers import Caller
from tests.integration.gateway.data_plane import Running

Connect = Callable[..., Caller]
Start = Callable[..., Running]
HELLO: Any = [{"role": "user", "content": "hello"}]
ASK: Any = {"model": "mock-model", "messages": HELLO}
EVENTS = Header("content-type", "text/event-stream")


class Weather(msgspec.Struct):
    """The weather of a place."""

    place: str


class Person(msgspec.Struct):
    name: str
    age: int


class PersonModel(pydantic.BaseModel):
    name: str
    age: int


PERSON = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, "required": ["name", "age"]}


@pytest.fixture
def server(start: Start, upstream: MockUpstream) -> Running:
    return start(upstream)


@pytest.fixture
def caller(server: Running, connect: Connect) -> Caller:
    return connect(server.url, timeout=20)


def chunk(finish: str | None = None, **delta: Any) -> Event:
    said = {"index": 0, "delta": delta, "finish_reason": finish}
    return Event({"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "mock-model", "choices": [said]})


def usage(prompt: int, completion: int) -> Event:
    counts = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return Event({"id": "c1", "choices": [], "usage": {**counts, "prompt_tokens_details": {"cached_tokens": 4}}})


def test_a_whole_answer(caller: Caller, upstream: MockUpstream) -> None:
    upstream.chat("Grüße, 世界")
    answer = caller.call(
        "chat.create", **ASK, temperature=0.5, stop=["END"], seed=None, extra_body={"top_a": 1}, request_id="my-own-id"
    )
    assert answer.text == "Grüße, 世界"
    assert (answer.finish_reason, answer.model, answer.request_id) == ("stop", "mock-model", "my-own-id")
    assert answer.usage.completion_tokens == 1
    assert answer.http.headers["x-antiphon-model"] == "p0/mock-model"
    asked = upstream.requests[0].json
    assert asked == {"model": "mock-model", "messages": HELLO, "temperature": 0.5, "stop": ["END"], "top_a": 1}


def test_a_streamed_answer_tells_its_usage(caller: Caller, upstream: MockUpstream) -> None:
    upstream.chat("Grü", "ße, ", "世界")
    chunks = caller.items("chat.stream", **ASK)
    assert [chunk.text for chunk in chunks if chunk.text] == ["Grü", "ße, ", "世界"]
    assert chunks[-1].usage.completion_tokens == 3
    upstream.chat("Grüße")
    assert caller.items("chat.stream", **ASK, stream_options={"include_usage": False})[-1].usage is None


def test_tools_from_the_question_to_the_answer(caller: Caller, upstream: MockUpstream) -> None:
    first = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "Weather", "arguments": ""}, "signature": "s"}
    pieces = [{"index": 0, "function": {"arguments": piece}} for piece in ('{"pla', 'ce": "', 'Köln"}')]
    upstream.script(
        EVENTS, chunk(content="Let me look."), chunk(tool_calls=[first]), *(chunk(tool_calls=[piece]) for piece in pieces),
        chunk("tool_calls"), usage(20, 9), Done(),
    )  # fmt: skip
    answer = caller.final("chat.stream", **ASK, tools=[function_tool(Weather)], tool_choice="auto")
    assert (answer.text, answer.finish_reason, answer.usage.cached_tokens) == ("Let me look.", "tool_calls", 4)
    (call,) = answer.tool_calls
    assert (call.id, call.name, call.parse(Weather)) == ("call_1", "Weather", Weather("Köln"))
    upstream.chat("It rains.")
    result = {"role": "tool", "tool_call_id": call.id, "content": "rain"}
    assert caller.call("chat.create", model="mock-model", messages=[*HELLO, answer.message, result]).text == "It rains."
    said = upstream.requests[-1].json["messages"][1]
    function = {"name": "Weather", "arguments": '{"place": "Köln"}'}
    assert said == {
        "role": "assistant", "content": "Let me look.",
        "tool_calls": [{"id": "call_1", "type": "function", "function": function, "signature": "s"}],
    }  # fmt: skip


@pytest.mark.parametrize("kind", [Person, PersonModel, PERSON], ids=["struct", "pydantic", "schema"])
def test_an_answer_of_a_type(caller: Caller, upstream: MockUpstream, kind: Any) -> None:
    upstream.chat('{"name": "Ada", ', '"age": 36}')
    read = caller.call("chat.parse", kind, **ASK)
    parsed = read.parsed
    assert (parsed if isinstance(parsed, dict) else {"name": parsed.name, "age": parsed.age}) == {"name": "Ada", "age": 36}
    assert read.usage.total_tokens > 0
    assert read.request_id
    asked = upstream.requests[0].json["response_format"]
    assert asked["type"] == "json_schema"
    assert set(asked["json_schema"]["schema"]["properties"]) == {"name", "age"}
    upstream.chat('{"name": "Ada"}' if kind is not PERSON else "Ada")
    with pytest.raises(ParseError) as told:
        caller.call("chat.parse", kind, **ASK)
    assert told.value.request_id
    upstream.chat('{"name": "A', finish="length")
    with pytest.raises(ParseError, match="cut off"):
        caller.call("chat.parse", kind, **ASK)


def test_continued_texts(caller: Caller, upstream: MockUpstream) -> None:
    upstream.chat(" a", " time", times=None)
    answer = caller.call("completions.create", model="mock-model", prompt="Once upon", max_tokens=5)
    assert (answer.text, answer.finish_reason) == (" a time", "stop")
    final = caller.final("completions.stream", model="mock-model", prompt="Once upon")
    assert (final.text, final.finish_reason, final.usage.completion_tokens) == (" a time", "stop", 2)


def test_ranking(start: Start, connect: Connect, upstream: MockUpstream) -> None:
    caller = connect(start(upstream, protocol="cohere", capabilities={"rerank": True}).url)
    results = [{"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.1}]
    upstream.script(Body({"id": "x", "results": results, "meta": {"billed_units": {"search_units": 1}}}))
    ask: Any = {"model": "mock-model", "query": "q", "documents": ["a", "b"]}
    ranking = caller.call("rerank.create", **ask, top_n=2, return_documents=True)
    assert [(one.index, one.relevance_score, one.text) for one in ranking.results] == [(1, 0.9, "b"), (0, 0.1, "a")]
    assert (upstream.requests[0].json["query"], upstream.requests[0].json["top_n"]) == ("q", 2)
    upstream.error(429, "slow down", retry_after=99)
    with pytest.raises(RateLimitError, match="slow down") as told:
        caller.call("rerank.create", **ask)
    assert told.value.retry_after == 99
    with pytest.raises(BadRequestError) as refused:
        caller.call("rerank.create", **{**ask, "documents": ["a", 7]})
    assert (refused.value.param, refused.value.code) == ("documents[1]", "invalid_request")
    assert refused.value.remedy
    assert refused.value.request_id


@pytest.mark.parametrize("form", [None, "float", "base64"])
def test_vectors(caller: Caller, form: str | None) -> None:
    answer = caller.call("embeddings.create", model="mock-model", input=["a", "b", "a"], encoding_format=form)
    assert len(answer.vectors) == 3
    assert answer.vectors[0] == answer.vectors[2] != answer.vectors[1]
    assert sum(number * number for number in answer.vectors[0]) == pytest.approx(1, abs=1e-5)
    assert [one.index for one in answer.data] == [0, 1, 2]


def test_the_catalogue(caller: Caller) -> None:
    models = caller.call("models.list")
    assert [(model.id, model.owned_by, model.kind) for model in models] == [("mock-model", "p0", "chat")]
    assert caller.call("models.retrieve", "mock-model").id == "mock-model"
    with pytest.raises(NotFoundError, match="not in the catalogue") as told:
        caller.call("models.retrieve", "no/such model?")
    error = told.value
    assert "no/such model?" in error.message
    assert (error.status, error.code, error.param, error.type) == (404, "model_not_found", "model", "invalid_request_error")
    assert error.remedy
    assert error.remedy not in error.message


def test_mistakes_are_told_by_field(caller: Caller, upstream: MockUpstream) -> None:
    with pytest.raises(NotFoundError):
        caller.call("chat.create", model="nobody", messages=HELLO)
    upstream.error(400, "temperature is too high")
    with pytest.raises(BadRequestError, match="temperature is too high"):
        caller.call("chat.create", **ASK, temperature=9)
    assert len(upstream.requests) == 1


def test_keys(start: Start, connect: Connect, upstream: MockUpstream) -> None:
    server = start(upstream, more='server: {keys: [{name: alice, key: "sk-alice-secret"}]}')
    assert connect(server.url, "sk-alice-secret").call("chat.create", **ASK).text == "hello"
    with pytest.raises(AuthenticationError) as told:
        connect(server.url, "sk-wrong-secret").call("chat.create", **ASK)
    assert told.value.code == "invalid_api_key"
    assert "sk-wrong-secret" not in f"{told.value} {told.value!r} {told.value.body!r}"
    assert connect(server.url, "").call("admin.health").status == "ok"


def test_a_providers_limit_reaches_the_caller_with_its_time(caller: Caller, upstream: MockUpstream) -> None:
    upstream.error(429, "slow down", retry_after=120, times=None)
    with pytest.raises(RateLimitError) as told:
        caller.call("chat.create", **ASK)
    assert told.value.retry_after == 120


def test_a_provider_that_breaks_off_is_an_error_and_not_a_short_answer(caller: Caller, upstream: MockUpstream) -> None:
    upstream.script(EVENTS, chunk(content="half"), Cut())
    with pytest.raises(StreamError) as told:
        caller.items("chat.stream", **ASK)
    assert told.value.code == "upstream_truncated"
    assert told.value.request_id == upstream.requests[0].header("x-request-id") or told.value.request_id
    upstream.script(Cut(), times=None)
    with pytest.raises(InternalServerError):
        caller.call("chat.create", **ASK, max_retries=0)


def test_leaving_reaches_the_provider(caller: Caller, upstream: MockUpstream) -> None:
    upstream.script(EVENTS, chunk(content="one"), Hang())
    assert len(caller.items("chat.stream", **ASK, most=1)) == 1
    assert upstream.requests[0].wait_closed(1.0)


def test_the_request_id_is_the_one_in_the_servers_log(caller: Caller, server: Running) -> None:
    ids = [caller.call("chat.create", **ASK).request_id for _ in range(2)]
    server.stop()
    assert [call["id"] for call in server.calls()] == ids


def test_health_and_readiness(caller: Caller) -> None:
    assert caller.call("admin.health").version
    ready = caller.call("admin.ready")
    assert ready.is_ready is (ready.status == "ready")
    assert isinstance(ready.parts, dict)


class TestOfAWholeServer:
    """With a supervisor, a control plane and two workers."""

    @pytest.fixture
    def workers(self) -> int:
        return 2

    @pytest.fixture
    def caller(self, server: Running, connect: Connect) -> Caller:
        return connect(server.url, timeout=20)

    def test_processes_calls_and_metrics(self, caller: Caller) -> None:
        answer = caller.call("chat.create", **ASK)
        state = caller.call("admin.processes")
        assert state.serving
        assert sorted(process.role for process in state.processes if process.role == "worker") == ["worker", "worker"]
        assert all(process.state == "ready" for process in state.processes)
        deadline = time.monotonic() + 20
        while not (calls := caller.call("admin.calls", limit=5, model="mock-model")).data:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        (record,) = calls.data
        assert (record.id, record.model, record.target, record.status) == (answer.request_id, "mock-model", "p0/mock-model", 200)
        assert record.usage.total_tokens == answer.usage.total_tokens
        (entry,) = caller.call("admin.audit", id=record.id, kind="call", limit=5).data
        assert (entry.facts["cost"], entry.key, entry.erased) == (record.cost, record.principal, ())
        with pytest.raises(BadRequestError) as told:
            caller.call("admin.calls", limit=0)
        assert told.value.param == "limit"
        assert "# HELP antiphon_" in caller.call("admin.metrics")
        assert caller.call("admin.ready").is_ready

    def test_routes(self, start: Start, upstream: MockUpstream, connect: Connect) -> None:
        more = "routes: [{name: mock-model, max_calls: 7, adaptive: false, attempts: 1, degrade: {template: sorry}}]\n"
        caller = connect(start(upstream, more=more).url, timeout=20)
        caller.call("chat.create", **ASK)
        upstream.error(503, times=1)
        assert caller.call("chat.create", **ASK).text == "sorry"
        (route,) = caller.call("admin.routes").routes
        (replica,) = route.replicas
        assert (route.name, route.waiting, route.running, route.degraded) == ("mock-model", 0, 0, {"failed": 1})
        assert (replica.name, replica.breaker, replica.limit, replica.calls) == ("p0/mock-model", "closed", 7, 0)
        page = caller.call("admin.metrics")
        assert 'antiphon_route_degraded_total{reason="failed",route="mock-model"} 1.0' in page
        assert 'antiphon_route_replica_breaker{replica="p0/mock-model",route="mock-model",state="closed"} 1.0' in page


# -- what a server of ours may not serve yet, straight before a scripted one


def test_responses(connect: Connect, upstream: MockUpstream) -> None:
    text = {
        "type": "message",
        "id": "m1",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "Hello", "annotations": []}],
    }
    call = {"type": "function_call", "id": "f1", "call_id": "c1", "name": "weather", "arguments": "{}"}
    usage = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3, "output_tokens_details": {"reasoning_tokens": 1}}
    whole = {"id": "resp_1", "object": "response", "status": "completed", "created_at": 7, "model": "m", "output": [text, call]}
    whole |= {"error": None, "usage": usage}
    caller = connect(upstream.url)
    upstream.script(Body(whole))
    answer = caller.call("responses.create", model="m", input="hi", instructions="Be brief.", previous_response_id="resp_0")
    assert (answer.output_text, answer.status, answer.usage.total_tokens) == ("Hello", "completed", 3)
    assert [item.name for item in answer.function_calls] == ["weather"]
    assert upstream.requests[0].json["previous_response_id"] == "resp_0"

    told: list[tuple[str, Any]] = [
        ("response.created", {"response": {**whole, "status": "in_progress", "output": []}}),
        ("response.output_text.delta", {"delta": "Hel", "item_id": "m1"}),
        ("response.output_text.delta", {"delta": "lo", "item_id": "m1"}),
        ("response.completed", {"response": whole}),
    ]
    events = [Event({"type": kind, "sequence_number": n, **data}, event=kind) for n, (kind, data) in enumerate(told)]
    upstream.script(*events).script(*events)
    assert "".join(event.text for event in caller.items("responses.stream", model="m", input="hi")) == "Hello"
    final = caller.final("responses.stream", model="m", input="hi")
    assert (final.output_text, final.request_id) == ("Hello", upstream.requests[-1].header("x-request-id"))
    upstream.script(*events[:2], Event({"type": "error", "code": "server_error", "message": "it broke"}, event="error"))
    with pytest.raises(StreamError, match="it broke"):
        caller.final("responses.stream", model="m", input="hi")
    upstream.script(*events[:2])
    with pytest.raises(APIConnectionError, match="before it was complete"):
        caller.final("responses.stream", model="m", input="hi")
    for method, verb in (("responses.retrieve", "GET"), ("responses.delete", "DELETE")):
        with pytest.raises(NotFoundError):
            caller.call(method, "resp/1")
        assert (upstream.requests[-1].method, upstream.requests[-1].path) == (verb, "/v1/responses/resp%2F1")


def test_an_answer_is_json_to_the_last_field(caller: Caller, upstream: MockUpstream) -> None:
    upstream.chat("Hello")
    answer = caller.call("chat.create", **ASK)
    assert json.loads(answer.raw)["choices"][0]["message"]["content"] == "Hello"
