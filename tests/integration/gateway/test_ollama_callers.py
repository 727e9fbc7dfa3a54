"""Ollama's dialect at the door, in front of servers that speak OpenAI's: what its official client makes of it."""

import base64
import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import ollama
import pytest

from antiphon.testing import Body, Cut, Delay, Done, Event, Gate, Header, MockUpstream, Status, Wire
from tests.integration.gateway.data_plane import Running

Start = Callable[..., Running]
HELLO: Any = [{"role": "user", "content": "hello"}]
EVENTS = Header("content-type", "text/event-stream")
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8
SCHEMA: Any = {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]}
PARTS = ["Grü", "ße, ", "世界"]


@pytest.fixture
def running(start: Start, upstream: MockUpstream) -> Running:
    return start(upstream)


@pytest.fixture
def client(running: Running) -> Iterator[ollama.Client]:
    client = ollama.Client(host=running.url, timeout=20)
    yield client
    client._client.close()


def chunk(delta: dict[str, Any], **choice: Any) -> Event:
    said = {"index": 0, "delta": delta, **choice}
    return Event({"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "mock-model", "choices": [said]})


def usage(prompt: int, completion: int) -> Event:
    counts = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return Event({"id": "c1", "choices": [], "usage": counts})


def texts(*parts: str) -> list[Event]:
    return [chunk({"content": part}) for part in parts]


def weather(place: str) -> str:
    """The weather of a place.

    Args:
        place: Where.
    """
    return f"rain in {place}"


def test_a_whole_answer(client: ollama.Client, upstream: MockUpstream) -> None:
    upstream.chat("Grüße, 世界")
    options = {"num_predict": 50, "temperature": 0.5, "stop": ["END"], "seed": 7, "num_ctx": 4096}
    history = [{"role": "system", "content": "Be brief."}, *HELLO]
    answer = client.chat(model="mock-model", messages=history, options=options, keep_alive="5m")
    assert answer.message.role == "assistant"
    assert answer.message.content == "Grüße, 世界"
    assert (answer.model, answer.done, answer.done_reason) == ("mock-model", True, "stop")
    assert (answer.prompt_eval_count or 0) > 0
    assert (answer.eval_count or 0) > 0
    (request,) = upstream.requests
    assert request.path == "/v1/chat/completions"
    asked = request.json
    assert asked["messages"] == history
    assert (asked["max_tokens"], asked["temperature"], asked["stop"], asked["seed"]) == (50, 0.5, ["END"], 7)
    assert not {"options", "keep_alive", "num_ctx", "stream"} & set(asked)


def test_a_streamed_answer_with_its_counts(client: ollama.Client, upstream: MockUpstream) -> None:
    end = [chunk({}, finish_reason="length"), usage(12, 3), Done()]
    upstream.script(EVENTS, chunk({"role": "assistant", "content": ""}), *texts(*PARTS), *end)
    lines = list(client.chat(model="mock-model", messages=HELLO, stream=True))
    assert [line.message.content for line in lines] == [*PARTS, ""]
    assert [line.done for line in lines] == [False, False, False, True]
    assert (lines[-1].done_reason, lines[-1].prompt_eval_count, lines[-1].eval_count) == ("length", 12, 3)
    assert (lines[-1].total_duration or 0) > 0
    assert lines[-1].load_duration is None
    assert upstream.requests[0].json["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize(
    ("stream", "streamed"), [({}, True), ({"stream": None}, True), ({"stream": True}, True), ({"stream": False}, False)]
)
@pytest.mark.parametrize(("path", "ask"), [("chat", {"messages": HELLO}), ("generate", {"prompt": "hello"})])
def test_an_answer_is_streamed_unless_the_caller_says_otherwise(
    running: Running, upstream: MockUpstream, path: str, ask: Any, stream: dict[str, Any], streamed: bool
) -> None:
    upstream.chat("a", "b")
    answer = httpx2.post(f"{running.url}/api/{path}", json={"model": "mock-model", **ask, **stream}, timeout=20)
    assert answer.headers["content-type"] == ("application/x-ndjson" if streamed else "application/json")
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert len(lines) == (3 if streamed else 1)
    assert lines[-1]["done"] is True
    assert upstream.requests[0].json.get("stream", False) is streamed


def test_a_generation(client: ollama.Client, upstream: MockUpstream) -> None:
    upstream.chat("Grüße", times=2)
    answer = client.generate(model="mock-model", prompt="hello", system="Be brief.", images=[PNG], options={"top_p": 0.5})
    assert (answer.response, answer.done, answer.done_reason) == ("Grüße", True, "stop")
    assert (answer.eval_count or 0) > 0
    asked = upstream.requests[0].json
    assert asked["messages"][0] == {"role": "system", "content": "Be brief."}
    assert [part["type"] for part in asked["messages"][1]["content"]] == ["image_url", "text"]
    assert asked["top_p"] == 0.5
    lines = list(client.generate(model="mock-model", prompt="hello", stream=True))
    assert "".join(line.response or "" for line in lines) == "Grüße"
    assert lines[-1].done_reason == "stop"


def test_images(client: ollama.Client, upstream: MockUpstream) -> None:
    upstream.chat("a cat")
    client.chat(model="mock-model", messages=[{"role": "user", "content": "what?", "images": [PNG]}])
    (message,) = upstream.requests[0].json["messages"]
    url = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    assert message["content"] == [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": "what?"}]
    with pytest.raises(ollama.ResponseError, match=r"messages\[0\].images\[0\]"):
        client.chat(model="mock-model", messages=[{"role": "user", "content": "what?", "images": [b"no image"]}])


def test_tools_from_the_question_to_the_answer(client: ollama.Client, upstream: MockUpstream) -> None:
    calls = [
        {"index": 0, "id": "call_x", "type": "function", "function": {"name": "weather", "arguments": '{"pla'}},
        {"index": 0, "function": {"arguments": 'ce": "Köln"}'}},
        {"index": 1, "id": "call_y", "type": "function", "function": {"name": "weather", "arguments": '{"place": "Bonn"}'}},
    ]
    pieces = [chunk({"tool_calls": [call]}) for call in calls]
    upstream.script(EVENTS, *texts("Let me look."), *pieces, chunk({}, finish_reason="tool_calls"), usage(20, 9), Done())
    lines = list(client.chat(model="mock-model", messages=HELLO, tools=[weather], stream=True))
    called = [call.function for line in lines for call in line.message.tool_calls or ()]
    assert [(call.name, call.arguments) for call in called] == [("weather", {"place": "Köln"}), ("weather", {"place": "Bonn"})]
    assert "".join(line.message.content or "" for line in lines) == "Let me look."
    assert lines[-1].done_reason == "stop"
    function = upstream.requests[0].json["tools"][0]["function"]
    assert (function["name"], function["description"]) == ("weather", "The weather of a place.")
    assert function["parameters"]["properties"]["place"]["type"] == "string"

    upstream.chat("It rains.")
    history: Any = [*HELLO, *(line.message for line in lines)]
    history += [{"role": "tool", "tool_name": call.name, "content": weather(**call.arguments)} for call in called]
    assert client.chat(model="mock-model", messages=history, tools=[weather]).message.content == "It rains."
    said, calling, *results = upstream.requests[-1].json["messages"][1:]
    assert said["content"] == "Let me look."
    ids = [call["id"] for call in calling["tool_calls"]]
    assert len(set(ids)) == 2
    assert [json.loads(call["function"]["arguments"])["place"] for call in calling["tool_calls"]] == ["Köln", "Bonn"]
    told = [(message["tool_call_id"], message["content"]) for message in results]
    assert told == [(ids[0], "rain in Köln"), (ids[1], "rain in Bonn")]


def test_calls_in_one_piece_and_without_an_index(client: ollama.Client, upstream: MockUpstream) -> None:
    calls = [{"id": name, "type": "function", "function": {"name": name, "arguments": '{"a": 1}'}} for name in ("f", "g")]
    upstream.script(
        EVENTS, chunk({"tool_calls": [calls[0]]}), chunk({"tool_calls": [calls[1]]}), chunk({}, finish_reason="tool_calls"), Done()
    )
    lines = list(client.chat(model="mock-model", messages=HELLO, stream=True))
    told = [(call.function.name, call.function.arguments) for line in lines for call in line.message.tool_calls or ()]
    assert told == [("f", {"a": 1}), ("g", {"a": 1})]


@pytest.mark.parametrize("stream", [True, False])
def test_arguments_that_are_no_json_are_the_servers_fault(client: ollama.Client, upstream: MockUpstream, stream: bool) -> None:
    call = {"index": 0, "id": "x", "type": "function", "function": {"name": "f", "arguments": '{"a": '}}
    if stream:
        upstream.script(EVENTS, chunk({"tool_calls": [call]}), chunk({}, finish_reason="tool_calls"), Done())
    else:
        upstream.script(Body({"choices": [{"index": 0, "message": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}))
    with pytest.raises(ollama.ResponseError, match="called f"):
        list(client.chat(model="mock-model", messages=HELLO, stream=stream))


@pytest.mark.parametrize(
    ("wanted", "there"),
    [
        ("json", {"type": "json_object"}),
        (SCHEMA, {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True}}),
    ],
)
def test_structured_output(client: ollama.Client, upstream: MockUpstream, wanted: Any, there: Any) -> None:
    upstream.chat('{"place":"Bonn"}', times=2)
    assert client.chat(model="mock-model", messages=HELLO, format=wanted).message.content == '{"place":"Bonn"}'
    assert client.generate(model="mock-model", prompt="hello", format=wanted).response == '{"place":"Bonn"}'
    assert [request.json["response_format"] for request in upstream.requests] == [there, there]


def test_thinking(client: ollama.Client, upstream: MockUpstream) -> None:
    thoughts = [chunk({"reasoning_content": "2"}), chunk({"reasoning": "+2"})]
    upstream.script(EVENTS, *thoughts, *texts("4"), chunk({}, finish_reason="stop"), Done(), times=2)
    lines = list(client.chat(model="mock-model", messages=HELLO, stream=True, think="high"))
    assert [(line.message.thinking, line.message.content) for line in lines] == [("2", ""), ("+2", ""), (None, "4"), (None, "")]
    spoken = list(client.generate(model="mock-model", prompt="hello", stream=True, think=True))
    assert [(line.thinking, line.response) for line in spoken] == [("2", ""), ("+2", ""), (None, "4"), (None, "")]


def test_log_probabilities_and_the_finish_reason(client: ollama.Client, upstream: MockUpstream) -> None:
    told = {
        "content": [
            {"token": "a", "logprob": -0.5, "bytes": [97], "top_logprobs": [{"token": "b", "logprob": -1.5, "bytes": None}]}
        ]
    }
    upstream.script(EVENTS, chunk({"content": "a"}, logprobs=told, finish_reason="length"), Done())
    lines = list(client.chat(model="mock-model", messages=HELLO, stream=True, logprobs=True, top_logprobs=1))
    (token,) = lines[0].logprobs or ()
    assert (token.token, token.logprob, [other.token for other in token.top_logprobs or ()]) == ("a", -0.5, ["b"])
    assert lines[-1].done_reason == "length"
    assert (upstream.requests[0].json["logprobs"], upstream.requests[0].json["top_logprobs"]) == (True, 1)


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"options": {"top_k": 5}}, "top_k"),
        ({"options": {"mirostat": 2}}, "options.mirostat"),
        ({"options": {"min_p": 0.1}}, "min_p"),
    ],
)
def test_what_a_server_cannot_do_is_refused_by_name_or_left_out_if_allowed(
    running: Running, upstream: MockUpstream, fields: dict[str, Any], param: str
) -> None:
    ask = {"model": "mock-model", "messages": HELLO, "stream": False, **fields}
    refused = httpx2.post(f"{running.url}/api/chat", json=ask, timeout=20)
    assert refused.status_code == 400
    assert f"`{param}`" in refused.json()["error"]
    assert not upstream.requests
    upstream.chat("x")
    answer = httpx2.post(f"{running.url}/api/chat", json={**ask, "drop_unsupported": True}, timeout=20)
    assert (answer.status_code, answer.headers["x-antiphon-dropped"]) == (200, param)
    assert param not in upstream.requests[0].json


@pytest.mark.parametrize("field", [{"raw": True}, {"template": "x"}, {"context": [1]}, {"suffix": "x"}])
def test_what_only_ollamas_own_models_can_is_refused_of_a_generation(
    client: ollama.Client, upstream: MockUpstream, field: Any
) -> None:
    with pytest.raises(ollama.ResponseError, match=f"`{next(iter(field))}` is not supported") as told:
        client.generate(model="mock-model", prompt="x", **field)
    assert told.value.status_code == 400
    assert not upstream.requests


def test_errors_come_in_the_dialects_shape(client: ollama.Client, upstream: MockUpstream) -> None:
    with pytest.raises(ollama.ResponseError, match="nobody") as told:
        client.chat(model="nobody", messages=HELLO)
    assert told.value.status_code == 404
    with pytest.raises(ollama.ResponseError, match="`messages` is empty"):
        client.chat(model="mock-model", messages=[])
    upstream.script(
        Status(429), Header("retry-after", "7"), Body({"error": {"message": "slow down", "type": "rate_limit"}}), times=2
    )
    for stream in (False, True):
        with pytest.raises(ollama.ResponseError, match="slow down") as told:
            list(client.chat(model="mock-model", messages=HELLO, stream=stream))
        assert (told.value.status_code, told.value.error) == (429, "slow down")


def test_an_error_tells_the_request_and_when_to_try_again(running: Running, upstream: MockUpstream) -> None:
    upstream.script(Status(429), Header("retry-after", "7"), Body({"error": {"message": "slow down"}}))
    ask = {"model": "mock-model", "messages": HELLO}
    answer = httpx2.post(f"{running.url}/api/chat", json=ask, headers={"x-request-id": "mine"}, timeout=20)
    assert answer.json() == {"error": "slow down", "request_id": "mine"}
    assert (answer.headers["retry-after"], answer.headers["x-request-id"]) == ("7", "mine")


@pytest.mark.parametrize("path", ["/api/pull", "/api/chat/x", "/api", "/api/blobs/sha256:0"])
def test_what_is_not_served_is_refused_in_the_dialects_shape(running: Running, path: str) -> None:
    answer = httpx2.post(f"{running.url}{path}", json={"model": "mock-model"}, timeout=20)
    assert answer.status_code == 404
    assert "/api/chat" in answer.json()["error"]


@pytest.mark.parametrize(
    "end", [[], [Delay(0.05), Cut()], [Delay(0.05), Cut(reset=True)], [Event({"error": {"message": "out of memory"}}), Done()]]
)
def test_a_stream_that_breaks_off_ends_with_an_error_line(
    running: Running, client: ollama.Client, upstream: MockUpstream, end: Any
) -> None:
    upstream.script(EVENTS, *texts("half"), *end, wire=Wire(framing="chunked"), times=2)
    seen = []
    with pytest.raises(ollama.ResponseError):
        seen.extend(line.message.content for line in client.chat(model="mock-model", messages=HELLO, stream=True))
    answer = httpx2.post(f"{running.url}/api/chat", json={"model": "mock-model", "messages": HELLO}, timeout=20)
    *told, error = [json.loads(line) for line in answer.text.splitlines()]
    assert error["error"]
    assert error["request_id"] == answer.headers["x-request-id"]
    assert [(line["message"]["content"], line["done"]) for line in told] == [("half", False)]
    assert seen == ["half"]


@pytest.mark.parametrize("wire", [Wire(write_size=1), Wire(newline="\r\n"), Wire(merge=0), Wire(write_size=7, newline="\r\n")])
def test_cuts_anywhere_change_nothing(client: ollama.Client, upstream: MockUpstream, wire: Wire) -> None:
    upstream.script(EVENTS, *texts(*PARTS), chunk({}, finish_reason="stop"), usage(12, 3), Done(), wire=wire)
    lines = list(client.chat(model="mock-model", messages=HELLO, stream=True))
    assert "".join(line.message.content or "" for line in lines) == "".join(PARTS)


def test_a_huge_line_and_very_many_tiny_ones(client: ollama.Client, upstream: MockUpstream) -> None:
    huge = "x" * (4 << 20)
    upstream.script(EVENTS, *texts(huge), *texts("y") * 5000, chunk({}, finish_reason="stop"), Done())
    lines = list(client.chat(model="mock-model", messages=HELLO, stream=True))
    assert "".join(line.message.content or "" for line in lines) == huge + "y" * 5000


def test_a_caller_that_leaves_is_seen_by_the_server(client: ollama.Client, upstream: MockUpstream) -> None:
    upstream.script(EVENTS, *texts("one", "two"), Gate(), wire=Wire(framing="chunked"))
    stream: Any = client.chat(model="mock-model", messages=HELLO, stream=True)
    for line in stream:
        if line.message.content == "two":
            break
    stream.close()
    assert upstream.wait_idle(1.0)


def test_a_server_that_fails_before_any_text_is_replaced(start: Start, upstream: MockUpstream, second: MockUpstream) -> None:
    running = start(upstream, second)
    upstream.script(Status(503), Body({"error": {"message": "down"}}))
    second.chat("from the second")
    client = ollama.Client(host=running.url, timeout=20)
    lines = list(client.chat(model="mock-model", messages=HELLO, stream=True))
    client._client.close()
    assert "".join(line.message.content or "" for line in lines) == "from the second"


def test_usage_is_accounted(running: Running, client: ollama.Client, upstream: MockUpstream) -> None:
    upstream.script(EVENTS, *texts("x"), chunk({}, finish_reason="stop"), usage(12, 3), Done())
    list(client.chat(model="mock-model", messages=HELLO, stream=True))
    running.stop()
    (call,) = running.calls()
    assert (call["endpoint"], call["stream"], call["prompt_tokens"], call["completion_tokens"]) == ("api/chat", True, 12, 3)


def test_embeddings(running: Running, client: ollama.Client, upstream: MockUpstream) -> None:
    vectors = [[0.5, 1.0], [2.0, 3.0]]
    data = [{"index": index, "embedding": vector} for index, vector in enumerate(vectors)]
    upstream.script(Body({"data": data, "usage": {"prompt_tokens": 4, "total_tokens": 4}}))
    answer = client.embed(model="mock-model", input=["a", "b"], dimensions=2, keep_alive="5m")
    assert (answer.embeddings, answer.model, answer.prompt_eval_count) == (vectors, "mock-model", 4)
    upstream.script(Body({"data": data[:1], "usage": {"prompt_tokens": 2, "total_tokens": 2}}))
    assert client.embeddings(model="mock-model", prompt="a").embedding == vectors[0]
    first, second = upstream.requests
    assert first.path == second.path == "/v1/embeddings"
    assert first.json == {"model": "mock-model", "input": ["a", "b"], "dimensions": 2}
    assert second.json == {"model": "mock-model", "input": "a"}
    with pytest.raises(ollama.ResponseError, match="`input` is an empty list"):
        client.embed(model="mock-model", input=[])
    running.stop()
    assert [(call["endpoint"], call["prompt_tokens"]) for call in running.calls()][:2] == [("api/embed", 4), ("api/embeddings", 2)]


def test_the_catalogue(start: Start, upstream: MockUpstream) -> None:
    running = start(
        upstream, more="aliases: {small: [mock-model]}", capabilities={"vision": False, "embeddings": False, "audio": False}
    )
    client = ollama.Client(host=running.url, timeout=20)
    models = client.list().models
    assert [model.model for model in models] == ["mock-model", "small"]
    assert len({model.digest for model in models}) == 2
    assert client.show("small").capabilities == ["completion", "tools", "thinking"]
    assert client.ps().models == []
    with pytest.raises(ollama.ResponseError, match="nobody") as told:
        client.show("nobody")
    assert told.value.status_code == 404
    client._client.close()
    version = httpx2.get(f"{running.url}/api/version", timeout=20).json()
    assert tuple(map(int, version["version"].split("."))) >= (0, 6, 4)
    assert httpx2.head(f"{running.url}/api/tags", timeout=20).status_code == 200
    for method, path in (("POST", "/api/tags"), ("GET", "/api/show"), ("GET", "/api/chat")):
        refused = httpx2.request(method, f"{running.url}{path}", timeout=20)
        assert refused.status_code == 405
        assert "does not take" in refused.json()["error"]
    assert httpx2.post(f"{running.url}/api/show", json={}, timeout=20).json()["error"].startswith("the field `model` is missing")


def test_keys_are_asked_for(start: Start, upstream: MockUpstream) -> None:
    upstream.chat("Hello")
    running = start(upstream, more='server: {keys: [{name: alice, key: "sk-alice"}]}')
    client = ollama.Client(host=running.url, timeout=20, headers={"authorization": "Bearer sk-alice"})
    assert client.chat(model="mock-model", messages=HELLO).message.content == "Hello"
    assert client.list().models
    client._client.close()
    stranger = ollama.Client(host=running.url, timeout=20, headers={"authorization": "Bearer sk-wrong"})
    for ask in (
        lambda: stranger.chat(model="mock-model", messages=HELLO),
        stranger.list,
        stranger.ps,
        lambda: stranger.show("mock-model"),
    ):
        with pytest.raises(ollama.ResponseError, match="not known here") as told:
            ask()
        assert told.value.status_code == 401
    stranger._client.close()
