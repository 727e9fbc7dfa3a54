"""OpenAI's Responses API at the door, in front of chat servers: what its official client makes of it."""

import json
from collections.abc import Callable
from typing import Any

import httpx2
import openai
import pytest
from pydantic import BaseModel

from antiphon.testing import Body, Comment, Cut, Done, Event, Hang, Header, MockUpstream, Status, Wire
from tests.integration.gateway.data_plane import Running
from tests.unit.execution.wire.responses_shapes import events_in, response_in

Start = Callable[..., Running]
EVENTS = Header("content-type", "text/event-stream")
PARAMETERS = {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"], "additionalProperties": False}
TOOL: Any = {"type": "function", "name": "weather", "description": "The weather.", "parameters": PARAMETERS, "strict": True}
ASK: Any = {"model": "mock-model", "input": "hello"}


class Forecast(BaseModel):
    """What a caller wants to have."""

    place: str
    degrees: int


@pytest.fixture
def running(start: Start, upstream: MockUpstream) -> Running:
    return start(upstream)


@pytest.fixture
def client(running: Running) -> Any:
    return running.client()


def chunk(delta: dict[str, Any], **choice: Any) -> Event:
    said = {"index": 0, "delta": delta, **choice}
    return Event({"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "mock-model", "choices": [said]})


def counted(prompt: int = 12, completion: int = 3, cached: int = 4) -> Event:
    counts = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return Event({"id": "c1", "choices": [], "usage": {**counts, "prompt_tokens_details": {"cached_tokens": cached}}})


def calls(*pieces: dict[str, Any]) -> Event:
    return chunk({"tool_calls": list(pieces)})


def call(identity: str, name: str, arguments: str, **more: Any) -> dict[str, Any]:
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}, **more}


def raw_stream(running: Running, **fields: Any) -> bytes:
    """The bytes of a streamed answer."""
    with httpx2.Client(timeout=20) as http:
        answer = http.post(f"{running.url}/v1/responses", json={**ASK, "stream": True, **fields})
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"] == "text/event-stream"
        return answer.content


def items(client: Any, response: str, **query: Any) -> list[Any]:
    return list(client.responses.input_items.list(response, **query))


def test_a_whole_answer(client: Any, upstream: MockUpstream) -> None:
    upstream.chat("Grüße, 世界")
    response = client.responses.create(
        **ASK, instructions="Be brief.", max_output_tokens=50, temperature=0.5, metadata={"a": "b"}, safety_identifier="u"
    )
    assert response.output_text == "Grüße, 世界"
    assert (response.status, response.model, response.metadata) == ("completed", "mock-model", {"a": "b"})
    assert response.usage.input_tokens > 0
    assert response.usage.total_tokens == response.usage.input_tokens + response.usage.output_tokens
    (request,) = upstream.requests
    assert request.path == "/v1/chat/completions"
    assert request.json == {
        "model": "mock-model",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hello"}],
        "max_tokens": 50,
        "temperature": 0.5,
        "user": "u",
    }


def test_a_streamed_answer(running: Running, client: Any, upstream: MockUpstream) -> None:
    upstream.script(
        EVENTS, chunk({"role": "assistant", "content": ""}), Comment(), chunk({"content": "Grü"}), chunk({"content": "ße, 世界"}),
        chunk({}, finish_reason="stop"), counted(), Done(), times=2,
    )  # fmt: skip
    with client.responses.stream(**ASK) as stream:
        assert [event.delta for event in stream if event.type == "response.output_text.delta"] == ["Grü", "ße, 世界"]
        response = stream.get_final_response()
    assert response.output_text == "Grüße, 世界"
    assert (response.usage.input_tokens, response.usage.input_tokens_details.cached_tokens, response.usage.output_tokens) == (
        12,
        4,
        3,
    )
    assert upstream.requests[0].json["stream_options"] == {"include_usage": True}
    assert events_in(raw_stream(running), check_items=False)[-1]["response"]["store"] is True


def test_an_answer_is_parsed_into_the_callers_model(client: Any, upstream: MockUpstream) -> None:
    upstream.chat('{"place": "Köln", ', '"degrees": 20}', times=2)
    response = client.responses.parse(**ASK, text_format=Forecast)
    assert response.output_parsed == Forecast(place="Köln", degrees=20)
    wanted = upstream.requests[0].json["response_format"]
    assert (wanted["type"], wanted["json_schema"]["strict"]) == ("json_schema", True)
    assert wanted["json_schema"]["schema"]["required"] == ["place", "degrees"]
    with client.responses.stream(**ASK, text_format=Forecast) as stream:
        assert stream.get_final_response().output_parsed == Forecast(place="Köln", degrees=20)


def test_tools_from_the_question_to_the_answer(client: Any, upstream: MockUpstream) -> None:
    upstream.script(
        EVENTS, chunk({"content": "Let me look."}), calls(call("call_1", "weather", "", index=0)),
        *(calls({"index": 0, "function": {"arguments": piece}}) for piece in ('{"pla', 'ce": "', 'Köln"}')),
        chunk({}, finish_reason="tool_calls"), counted(), Done(),
    )  # fmt: skip
    question: list[Any] = [{"role": "user", "content": "How is it?"}]
    with client.responses.stream(model="mock-model", input=question, tools=[TOOL], store=False) as stream:
        response = stream.get_final_response()
    said, called = response.output
    assert (said.type, called.type) == ("message", "function_call")
    assert (called.call_id, called.name, called.parsed_arguments) == ("call_1", "weather", {"place": "Köln"})
    function = upstream.requests[0].json["tools"][0]["function"]
    assert function == {name: value for name, value in TOOL.items() if name != "type"}

    upstream.chat("It rains.")
    result = {"type": "function_call_output", "call_id": "call_1", "output": "rain"}
    again = client.responses.create(model="mock-model", input=[*question, *response.output, result], tools=[TOOL], store=False)
    assert again.output_text == "It rains."
    asked = upstream.requests[-1].json["messages"]
    assert [message["role"] for message in asked] == ["user", "assistant", "tool"]
    assert asked[1]["content"] == "Let me look."
    function = asked[1]["tool_calls"][0]["function"]
    assert (function["name"], json.loads(function["arguments"])) == ("weather", {"place": "Köln"})
    assert asked[2] == {"role": "tool", "tool_call_id": "call_1", "content": "rain"}


def test_a_conversation_goes_on_by_name(client: Any, upstream: MockUpstream) -> None:
    upstream.chat("Hi").chat("Fine").chat("Bye")
    first = client.responses.create(**ASK, instructions="Be brief.")
    second = client.responses.create(model="mock-model", input="and you?", previous_response_id=first.id)
    with client.responses.stream(model="mock-model", input="bye", previous_response_id=second.id) as stream:
        third = stream.get_final_response()
    assert (second.previous_response_id, third.previous_response_id) == (first.id, second.id)
    assert upstream.requests[-1].json["messages"] == [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": "Hi"},
        {"role": "user", "content": "and you?"},
        {"role": "assistant", "content": "Fine"},
        {"role": "user", "content": "bye"},
    ]


def test_a_tool_loop_goes_on_by_name(client: Any, upstream: MockUpstream) -> None:
    whole = {"choices": [{"index": 0, "message": {"content": None, "tool_calls": [call("c1", "weather", '{"place":"Köln"}')]}}]}
    upstream.script(Body(whole)).chat("It rains.")
    first = client.responses.create(**ASK, tools=[TOOL])
    result: Any = [{"type": "function_call_output", "call_id": first.output[0].call_id, "output": "rain"}]
    second = client.responses.create(model="mock-model", input=result, previous_response_id=first.id, tools=[TOOL])
    assert second.output_text == "It rains."
    assert [message["role"] for message in upstream.requests[-1].json["messages"]] == ["user", "assistant", "tool"]


def test_what_was_kept_can_be_read_listed_and_deleted(client: Any, upstream: MockUpstream) -> None:
    upstream.chat("Hi").chat("Fine")
    first = client.responses.create(**ASK)
    second = client.responses.create(model="mock-model", input="and you?", previous_response_id=first.id)
    assert client.responses.retrieve(second.id).model_dump() == second.model_dump()
    listed = items(client, second.id, order="asc")
    assert [(item.role, item.content[0].text) for item in listed] == [("user", "hello"), ("assistant", "Hi"), ("user", "and you?")]
    assert [item.id for item in items(client, second.id, limit=1)] == [item.id for item in reversed(listed)]
    assert [item.id for item in items(client, first.id)] == [listed[0].id]
    client.responses.delete(first.id)
    for gone in (client.responses.retrieve, client.responses.delete, lambda name: items(client, name)):
        with pytest.raises(openai.NotFoundError, match="not found"):
            gone(first.id)
    assert client.responses.retrieve(second.id).output_text == "Fine"
    with pytest.raises(openai.BadRequestError, match=first.id) as told:
        client.responses.create(model="mock-model", input="so?", previous_response_id=second.id)
    assert (told.value.code, told.value.param) == ("previous_response_not_found", "previous_response_id")


def test_items_can_be_named_in_place_of_being_given(client: Any, upstream: MockUpstream) -> None:
    upstream.chat("Hi").chat("Fine")
    first = client.responses.create(**ASK)
    named: Any = [
        *({"type": "item_reference", "id": item.id} for item in items(client, first.id)),
        {"type": "item_reference", "id": first.output[0].id},
        {"role": "user", "content": "and you?"},
    ]
    assert client.responses.create(model="mock-model", input=named).output_text == "Fine"
    assert [message["content"] for message in upstream.requests[-1].json["messages"]] == ["hello", "Hi", "and you?"]


def test_nothing_here_runs_in_the_background(client: Any, upstream: MockUpstream) -> None:
    upstream.chat("Hi")
    with pytest.raises(openai.BadRequestError, match="`background`"):
        client.responses.create(**ASK, background=True)
    kept = client.responses.create(**ASK)
    with pytest.raises(openai.BadRequestError, match="background"):
        client.responses.cancel(kept.id)
    with pytest.raises(openai.NotFoundError, match="resp_unknown"):
        client.responses.cancel("resp_unknown")
    with pytest.raises(openai.BadRequestError, match="`stream`"):
        client.responses.retrieve(kept.id, stream=True)


def test_paths_and_methods_that_are_not_served(running: Running, client: Any) -> None:
    with pytest.raises(openai.NotFoundError, match="input_tokens"):
        client.responses.input_tokens.count(**ASK)
    with httpx2.Client(timeout=20) as http:
        for method, path, status in (
            ("GET", "", 405), ("PUT", "/resp_1", 405), ("POST", "/resp_1/input_items", 405), ("GET", "/resp_1/cancel", 405),
            ("GET", "/resp_1/other", 404), ("GET", "/resp_1", 404), ("GET", "/", 404),
        ):  # fmt: skip
            answer = http.request(method, f"{running.url}/v1/responses{path}")
            assert (answer.status_code, path) == (status, path)
            assert answer.json()["error"]["remedy"]


@pytest.mark.parametrize("query", ["limit=0", "limit=101", "limit=x", "limit=²", "order=up", "after=nobody"])
def test_pages_that_cannot_be_had(running: Running, client: Any, upstream: MockUpstream, query: str) -> None:
    upstream.chat("Hi")
    kept = client.responses.create(**ASK)
    with httpx2.Client(timeout=20) as http:
        answer = http.get(f"{running.url}/v1/responses/{kept.id}/input_items?{query}")
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, query.partition("=")[0])


def test_a_keys_responses_are_its_own(start: Start, upstream: MockUpstream) -> None:
    upstream.chat("Hi", times=None)
    process = start(upstream, more='server: {keys: [{name: alice, key: "sk-alice"}, {name: bob, key: "sk-bob"}]}')
    alice, bob = (process.client(key) for key in ("sk-alice", "sk-bob"))
    kept = alice.responses.create(**ASK)
    assert alice.responses.retrieve(kept.id).id == kept.id
    for look in (bob.responses.retrieve, bob.responses.delete, bob.responses.cancel, lambda name: items(bob, name)):
        with pytest.raises(openai.NotFoundError):
            look(kept.id)
    with pytest.raises(openai.BadRequestError, match="not found"):
        bob.responses.create(**ASK, previous_response_id=kept.id)
    with pytest.raises(openai.BadRequestError, match="not found"):
        bob.responses.create(model="mock-model", input=[{"type": "item_reference", "id": kept.output[0].id}])
    with pytest.raises(openai.AuthenticationError):
        process.client("sk-wrong").responses.retrieve(kept.id)
    assert alice.responses.create(**ASK, previous_response_id=kept.id).output_text == "Hi"


def test_nothing_is_kept_where_the_operator_or_the_caller_does_not_want_it(start: Start, upstream: MockUpstream) -> None:
    upstream.chat("Hi", times=None)
    process = start(upstream, more="server: {responses: {store: false}}")
    client: Any = process.client()
    response = client.responses.create(**ASK)
    assert response.store is False
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(response.id)
    with pytest.raises(openai.BadRequestError, match="`store`"):
        client.responses.create(**ASK, store=True)
    with pytest.raises(openai.BadRequestError, match="not found"):
        client.responses.create(**ASK, previous_response_id=response.id)
    process.stop()
    client = start(upstream).client()
    response = client.responses.create(**ASK, store=False)
    assert response.store is False
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(response.id)


@pytest.mark.parametrize("workers", [3])
def test_every_worker_can_take_the_next_turn(start: Start, upstream: MockUpstream, workers: int) -> None:
    upstream.chat("ok", times=None)
    process = start(upstream)
    previous = None
    for turn in range(12):  # a connection for each, so that other workers come to take them
        with (
            openai.OpenAI(base_url=f"{process.url}/v1", api_key="x", max_retries=0, timeout=20) as client,
            client.responses.stream(model="mock-model", input=str(turn), previous_response_id=previous) as stream,
        ):
            previous = stream.get_final_response().id
    said = [message["content"] for message in upstream.requests[-1].json["messages"] if message["role"] == "user"]
    assert said == [str(turn) for turn in range(12)]


def test_what_was_kept_outlives_the_server(start: Start, upstream: MockUpstream) -> None:
    upstream.chat("Hi", times=None)
    process = start(upstream)
    kept = process.client().responses.create(**ASK)
    process.stop()
    assert start(upstream).client().responses.retrieve(kept.id).output_text == "Hi"


def test_errors_are_those_of_the_official_client(client: Any, upstream: MockUpstream) -> None:
    with pytest.raises(openai.NotFoundError, match="nobody"):
        client.responses.create(model="nobody", input="x")
    with pytest.raises(openai.BadRequestError, match="input") as told:
        client.responses.create(model="mock-model", input=[{"role": "user", "content": 7}])
    assert told.value.param == "input[0].content"
    with pytest.raises(openai.BadRequestError, match="tools") as told:
        client.responses.create(**ASK, tools=[{"type": "web_search"}])
    assert told.value.code == "unsupported_parameter"
    with pytest.raises(openai.BadRequestError, match="previous response with id 'resp_68af' not found"):
        client.responses.create(**ASK, previous_response_id="resp_68af")
    upstream.script(Status(429), Header("retry-after", "7"), Body({"error": {"message": "slow down", "type": "rate_limit"}}))
    with pytest.raises(openai.RateLimitError, match="slow down") as limited:
        client.responses.create(**ASK)
    assert limited.value.response.headers["retry-after"] == "7"


def test_what_may_be_left_out_is_left_out_where_the_caller_allows_it(start: Start, upstream: MockUpstream) -> None:
    upstream.chat("Hi", times=None)
    client: Any = start(upstream, capabilities={"json_schema": False}).client()
    schema: Any = {"format": {"type": "json_schema", "name": "a", "schema": PARAMETERS}}
    with pytest.raises(openai.BadRequestError, match="text") as told:
        client.responses.create(**ASK, text=schema)
    assert told.value.param == "text.format"
    more = {"drop_unsupported": True}
    answer = client.responses.with_raw_response.create(**ASK, text=schema, truncation="auto", background=True, extra_body=more)
    assert set(answer.headers["x-antiphon-dropped"].split(", ")) == {"text.format", "truncation", "background"}
    assert upstream.requests[-1].json == {"model": "mock-model", "messages": [{"role": "user", "content": "hello"}]}


# -- what callers of other gateways suffer


def test_two_calls_without_an_index(running: Running, upstream: MockUpstream) -> None:
    two = [call("a", "weather", '{"place":"Köln"}'), call("b", "weather", '{"place":"Łódź"}')]
    upstream.script(EVENTS, calls(*two), chunk({}, finish_reason="tool_calls"), Done())
    told = events_in(raw_stream(running), check_items=False)[-1]["response"]["output"]
    assert [(item["call_id"], json.loads(item["arguments"])["place"]) for item in told] == [("a", "Köln"), ("b", "Łódź")]


def test_calls_that_are_numbered_from_zero_again_with_text_around_them(running: Running, upstream: MockUpstream) -> None:
    upstream.script(
        EVENTS, chunk({"content": "one "}), calls(call("a", "f", "{}", index=0)), chunk({"content": "two "}),
        calls(call("b", "g", "{}", index=0)), calls(call("c", "h", "{}", index=0)), chunk({"content": "three"}),
        chunk({}, finish_reason="tool_calls"), Done(),
    )  # fmt: skip
    told = events_in(raw_stream(running), check_items=False)[-1]["response"]["output"]
    assert [item.get("name") or item["content"][0]["text"] for item in told] == ["one ", "f", "two ", "g", "h", "three"]
    assert len({item["call_id"] for item in told if item["type"] == "function_call"}) == 3


@pytest.mark.parametrize("place", ["last delta", "own field twice", "never"])
def test_usage_wherever_the_server_tells_it(running: Running, upstream: MockUpstream, place: str) -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
    last = {**chunk({"content": "!"}, finish_reason="stop").data, **({"usage": usage} if place == "last delta" else {})}
    twice = [Event({"choices": [], "usage": usage})] * 2 if place == "own field twice" else []
    upstream.script(EVENTS, chunk({"content": "Hi"}), Event(last), *twice, Done())
    events = events_in(raw_stream(running), check_items=False)
    told = events[-1]["response"]["usage"]
    assert (told and told["input_tokens"]) == (None if place == "never" else 5)
    assert sum("usage" in event for event in events) == 0


def test_log_probabilities_and_the_end_both_survive(client: Any, upstream: MockUpstream) -> None:
    token = {"token": "Hi", "logprob": -0.1, "bytes": [72, 105], "top_logprobs": [{"token": "Ho", "logprob": -2.0, "bytes": None}]}
    upstream.script(EVENTS, chunk({"content": "Hi"}, logprobs={"content": [token]}, finish_reason="length"), Done())
    with client.responses.stream(**ASK, top_logprobs=1, include=["message.output_text.logprobs"]) as stream:
        events = list(stream)
    assert events[-1].type == "response.incomplete"
    response = events[-1].response
    assert response.incomplete_details.reason == "max_output_tokens"
    (told,) = response.output[0].content[0].logprobs
    assert (told.token, told.logprob, told.top_logprobs[0].token) == ("Hi", -0.1, "Ho")
    assert (upstream.requests[0].json["logprobs"], upstream.requests[0].json["top_logprobs"]) == (True, 1)


@pytest.mark.parametrize(
    "wire", [Wire(write_size=1), Wire(newline="\r\n", write_size=3), Wire(merge=0), Wire(framing="close")], ids=repr
)
def test_bytes_cut_anywhere(running: Running, upstream: MockUpstream, wire: Wire) -> None:
    upstream.script(
        EVENTS, Comment(), chunk({"content": "Grüße, "}), chunk({"content": "世界 👋"}), chunk({}, finish_reason="stop"), Done(),
        wire=wire,
    )  # fmt: skip
    told = events_in(raw_stream(running), check_items=False)[-1]["response"]
    assert told["output"][0]["content"][0]["text"] == "Grüße, 世界 👋"


@pytest.mark.parametrize("end", ["cut", "reset", "no finish", "error", "no JSON"])
def test_a_stream_that_breaks_off_after_some_text_has_failed(
    start: Start, upstream: MockUpstream, second: MockUpstream, end: str
) -> None:
    broken: dict[str, list[Any]] = {
        "cut": [Cut()], "reset": [Cut(reset=True)], "no finish": [], "no JSON": [Event("{broken"), Done()],
        "error": [Event({"error": {"message": "out of memory", "code": 500}}), Done()],
    }  # fmt: skip
    upstream.script(EVENTS, chunk({"content": "half"}), *broken[end], wire=Wire(gap=0.1))  # seen before the rest comes
    running = start(upstream, second)
    events = events_in(raw_stream(running))
    assert [event["type"] for event in events[-3:]] == ["response.output_text.delta", "response.failed", "error"]
    assert events[-2]["response"]["error"]["code"] == "server_error"
    if end == "error":
        assert events[-1]["message"] == events[-2]["response"]["error"]["message"] == "out of memory"
    assert second.requests == []
    running.stop()
    (told,) = running.calls()
    assert told["status"] == 200
    assert told["error"]


def test_a_server_that_fails_before_any_text_gives_way_to_the_next(
    start: Start, upstream: MockUpstream, second: MockUpstream
) -> None:
    upstream.script(EVENTS, chunk({"role": "assistant"}), Cut())
    second.chat("Hi")
    running = start(upstream, second)
    assert events_in(raw_stream(running), check_items=False)[-1]["response"]["output"][0]["content"][0]["text"] == "Hi"


def test_an_event_of_several_megabytes_and_many_tiny_ones(running: Running, client: Any, upstream: MockUpstream) -> None:
    upstream.script(EVENTS, chunk({"content": "x" * (4 << 20)}), chunk({}, finish_reason="stop"), Done())
    upstream.script(EVENTS, *(chunk({"content": "y"}) for _ in range(5000)), chunk({}, finish_reason="stop"), Done())
    for size, letter in ((4 << 20, "x"), (5000, "y")):
        with client.responses.stream(**ASK) as stream:
            assert stream.get_final_response().output_text == letter * size


def test_a_caller_who_leaves_is_not_answered_on(running: Running, client: Any, upstream: MockUpstream) -> None:
    upstream.script(EVENTS, chunk({"content": "a"}), chunk({"content": "b"}), Hang())
    with client.responses.stream(**ASK) as stream:
        for event in stream:
            if event.type == "response.output_text.delta" and event.delta == "b":
                break
    (request,) = upstream.requests
    assert request.wait_closed(within=1.0)


@pytest.mark.parametrize("arguments", ["{broken", "[]", "7"])
def test_broken_arguments_in_the_history_are_named(client: Any, upstream: MockUpstream, arguments: str) -> None:
    history: Any = [
        {"role": "user", "content": "x"},
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": arguments},
    ]
    with pytest.raises(openai.BadRequestError) as told:
        client.responses.create(model="mock-model", input=history)
    assert told.value.param == "input[1].arguments"
    assert upstream.requests == []


def test_thinking_is_shown_as_it_came_or_as_a_summary(client: Any, upstream: MockUpstream) -> None:
    message = {"role": "assistant", "content": "4", "reasoning_content": "2 and 2"}
    upstream.script(Body({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}), times=2)
    thought, _ = client.responses.create(**ASK).output
    assert [part.text for part in thought.content] == ["2 and 2"]
    thought, _ = client.responses.create(**ASK, reasoning={"summary": "auto"}).output
    assert [part.text for part in thought.summary] == ["2 and 2"]


def test_a_whole_answer_is_one_of_the_official_package(running: Running, upstream: MockUpstream) -> None:
    upstream.chat("Hi")
    with httpx2.Client(timeout=20) as http:
        answer = http.post(f"{running.url}/v1/responses", json={**ASK, "tools": [{"type": "function", "name": "f"}]})
    assert response_in(answer.content)["output"][0]["content"][0]["text"] == "Hi"
    assert answer.headers["x-antiphon-model"] == "p0/mock-model"
