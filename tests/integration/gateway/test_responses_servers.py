"""OpenAI's Responses API at the door, in front of servers of other vendors, and of those that speak it themselves."""

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from antiphon.testing import Body, Comment, Cut, Event, Header, MockUpstream, Status, Wire
from tests.integration.gateway.data_plane import DataPlaneProcess, Running, provider
from tests.unit.execution.wire.responses_shapes import events_in

Start = Callable[..., Running]
EVENTS = Header("content-type", "text/event-stream")
ASK: Any = {"model": "mock-model", "input": "hello"}
PARAMETERS = {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]}
TOOL: Any = {"type": "function", "name": "weather", "parameters": PARAMETERS}
CLAUDE: Any = {"protocol": "anthropic", "key": "sk-ant-secret"}
GEMINI: Any = {"protocol": "gemini", "key": "g-secret"}
NATIVE: Any = {"capabilities": {"responses": True}}


def events(*told: dict[str, Any]) -> list[Event]:
    return [Event(event, event["type"]) for event in told]


def claude(*content: dict[str, Any], reason: str = "end_turn") -> Body:
    usage = {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 2}
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "mock-model"}
    return Body({**head, "content": content, "stop_reason": reason, "usage": usage})


THOUGHT = {"type": "thinking", "thinking": "hm, 世界", "signature": "sig=="}
HIDDEN = {"type": "redacted_thinking", "data": "xyz"}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"place": "Köln"}}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def result(call: str) -> Any:
    return {"type": "function_call_output", "call_id": call, "output": "rain"}


def raw_stream(running: Running, **fields: Any) -> bytes:
    with httpx2.Client(timeout=20) as http:
        answer = http.post(f"{running.url}/v1/responses", json={**ASK, "stream": True, **fields})
        assert answer.status_code == 200, answer.text
        return answer.content


# -- Anthropic


def test_a_loop_of_tools_with_signed_thoughts_goes_on_by_name_and_by_hand(start: Start, upstream: MockUpstream) -> None:
    client: Any = start(upstream, **CLAUDE).client()
    turn = [THOUGHT, HIDDEN, text("Let me look."), CALL]
    upstream.script(claude(*turn, reason="tool_use"), times=2)
    upstream.script(claude(text("It rains.")), times=2)
    first = client.responses.create(**ASK, tools=[TOOL], reasoning={"effort": "low", "summary": "auto"})
    assert [item.type for item in first.output] == ["reasoning", "reasoning", "message", "function_call"]
    assert first.output[0].summary[0].text == "hm, 世界"
    usage = first.usage
    assert (usage.input_tokens, usage.input_tokens_details.cached_tokens, usage.output_tokens) == (15, 3, 5)
    by_hand = client.responses.create(**ASK, tools=[TOOL], store=False)
    question: Any = {"role": "user", "content": "hello"}
    more: Any = {"model": "mock-model", "tools": [TOOL]}
    assert client.responses.create(**more, previous_response_id=first.id, input=[result("toolu_1")]).output_text == "It rains."
    given: Any = [question, *(item.model_dump(exclude_none=True) for item in by_hand.output), result("toolu_1")]
    assert client.responses.create(**more, input=given, store=False).output_text == "It rains."
    for request in upstream.requests[-2:]:
        asked = request.json["messages"]
        assert asked[1] == {"role": "assistant", "content": turn}
        assert asked[2]["content"] == [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "rain"}]


def test_a_stream_of_anthropics(start: Start, upstream: MockUpstream) -> None:
    running = start(upstream, **CLAUDE)
    upstream.script(
        EVENTS,
        *events(
            {"type": "message_start", "message": {"id": "m", "content": [], "usage": {"input_tokens": 10, "output_tokens": 1}}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "sig"}},
            {"type": "content_block_stop", "index": 0},
            {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Grüße"}},
            {"type": "content_block_stop", "index": 1},
            {"type": "content_block_start", "index": 2, "content_block": {**CALL, "input": {}}},
            {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": '{"place":'}},
            {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": '"Köln"}'}},
            {"type": "content_block_stop", "index": 2},
            {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 7}},
            {"type": "message_stop"},
        ),
        times=2,
        wire=Wire(write_size=7),
    )
    told = events_in(raw_stream(running, tools=[TOOL]), check_items=False)[-1]["response"]
    assert [item["type"] for item in told["output"]] == ["reasoning", "message", "function_call"]
    with running.client().responses.stream(**ASK, tools=[TOOL]) as stream:
        response = stream.get_final_response()
    assert response.output_text == "Grüße"
    assert json.loads(response.output[2].arguments) == {"place": "Köln"}
    assert (response.usage.input_tokens, response.usage.output_tokens) == (10, 7)


def test_what_anthropic_lacks_is_refused_by_the_callers_name(start: Start, upstream: MockUpstream) -> None:
    client: Any = start(upstream, **CLAUDE).client()
    refused: Any = [
        ({"text": {"format": {"type": "json_object"}}}, "text.format"),
        ({"top_logprobs": 2}, "include"),
        ({"temperature": 1.5}, "temperature"),
        (
            {
                "max_output_tokens": None,
                "input": [{"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}}]}],
            },
            "input[0].content",
        ),
    ]
    for fields, param in refused:
        with pytest.raises(openai.BadRequestError) as told:
            client.responses.create(**{**ASK, **fields})
        assert told.value.param == param
    assert upstream.requests == []


# -- Gemini


def test_the_signature_of_a_call_goes_back_with_it(start: Start, upstream: MockUpstream) -> None:
    client: Any = start(upstream, **GEMINI).client()
    part = {"functionCall": {"name": "weather", "args": {"place": "Köln"}}, "thoughtSignature": "c2ln"}
    upstream.script(Body({"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}]}))
    upstream.script(Body({"candidates": [{"content": {"role": "model", "parts": [{"text": "wet"}]}, "finishReason": "STOP"}]}))
    first = client.responses.create(**ASK, tools=[TOOL])
    (call,) = (item for item in first.output if item.type == "function_call")
    second = client.responses.create(model="mock-model", input=[result(call.call_id)], previous_response_id=first.id, tools=[TOOL])
    assert second.output_text == "wet"
    (back,) = (part for turn in upstream.requests[-1].json["contents"] for part in turn["parts"] if "functionCall" in part)
    assert (back["functionCall"]["args"], back["thoughtSignature"]) == ({"place": "Köln"}, "c2ln")


# -- servers that speak the dialect themselves


def theirs(words: str = "Hi", **more: Any) -> dict[str, Any]:
    content = [{"type": "output_text", "text": words, "annotations": []}]
    message = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": content}
    usage = {
        "input_tokens": 10, "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 0}, "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 2}, "total_tokens": 15,
    }  # fmt: skip
    head = {"id": "resp_68af", "object": "response", "created_at": 1, "status": "completed", "model": "mock-model", "error": None}
    plain = {"output": [message], "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "usage": usage}
    return {**head, **plain, **more}


STREAM = events(
    {"type": "response.created", "sequence_number": 0, "response": theirs(status="in_progress", output=[], usage=None)},
    {"type": "response.web_search_call.searching", "sequence_number": 1, "output_index": 0, "item_id": "ws_1"},
    {"type": "response.output_text.delta", "sequence_number": 2, "delta": "Hi", "new": {"in": "no SDK"}},
)
COMPLETED = events({"type": "response.completed", "sequence_number": 3, "response": theirs()})


def sent(*steps: Any) -> bytes:
    return b"".join(
        b"event: %b\ndata: %b\n\n"
        % (step.event.encode(), json.dumps(step.data, separators=(",", ":"), ensure_ascii=False).encode())
        for step in steps
    )


def test_calls_go_there_as_they_are_and_answers_come_as_they_came(start: Start, upstream: MockUpstream) -> None:
    running = start(upstream, **NATIVE)
    body = b'{ "model":"mock-model", "input":"hello", "tools":[{"type":"web_search"}],"background":false , "truncation":"auto"}'
    answer = json.dumps(theirs(new=1)).encode()
    upstream.script(Body(answer))
    upstream.script(EVENTS, *STREAM, *COMPLETED)
    with httpx2.Client(base_url=running.url, timeout=20) as http:
        whole = http.post("/v1/responses", content=body)
        streamed = http.post("/v1/responses", content=body[:-1] + b',"stream":true}')
    assert whole.content == answer
    assert streamed.content == sent(*STREAM, *COMPLETED)
    assert [request.path for request in upstream.requests] == ["/v1/responses"] * 2
    assert upstream.requests[0].body == body
    running.stop()
    for call in running.calls():
        assert (call["prompt_tokens"], call["completion_tokens"], call["cached_tokens"], call["reasoning_tokens"]) == (10, 5, 4, 2)


def test_such_a_server_keeps_its_responses_itself(start: Start, upstream: MockUpstream) -> None:
    client: Any = start(upstream, **NATIVE).client()
    upstream.script(Body(theirs()), times=2)
    first = client.responses.create(**ASK)
    client.responses.create(**ASK, previous_response_id=first.id)
    assert upstream.requests[-1].json["previous_response_id"] == "resp_68af"
    with pytest.raises(openai.NotFoundError, match="resp_68af"):
        client.responses.retrieve(first.id)


def test_errors_of_such_a_server_are_its_own(start: Start, upstream: MockUpstream) -> None:
    running = start(upstream, **NATIVE)
    error = {"error": {"message": "no", "type": "invalid_request_error", "param": "input", "code": "bad", "more": 1}}
    upstream.script(Status(400), Body(json.dumps(error, indent=1)))
    with httpx2.Client(timeout=20) as http:
        answer = http.post(f"{running.url}/v1/responses", json=ASK)
    assert (answer.status_code, answer.text) == (400, json.dumps(error, indent=1))
    upstream.script(Body(theirs(status="failed", error={"code": "rate_limit_exceeded", "message": "slow down"})))
    with pytest.raises(openai.RateLimitError, match="slow down"):
        running.client().responses.create(**ASK)


@pytest.mark.parametrize("end", ["cut", "silence", "error", "failed"])
def test_a_stream_of_such_a_server_that_breaks_off(start: Start, upstream: MockUpstream, second: MockUpstream, end: str) -> None:
    failed = {"error": {"code": "server_error", "message": "no"}, "status": "failed"}
    last: dict[str, list[Any]] = {
        "cut": [Cut()], "silence": [],
        "error": events({"type": "error", "sequence_number": 3, "code": "server_error", "message": "no", "param": None}),
        "failed": events({"type": "response.failed", "sequence_number": 3, "response": theirs(**failed)}),
    }  # fmt: skip
    upstream.script(EVENTS, *STREAM, *last[end], wire=Wire(gap=0.1))
    raw = raw_stream(start(upstream, second, **NATIVE))
    assert raw.startswith(sent(*STREAM))
    rest = raw.removeprefix(sent(*STREAM)).removesuffix(b"\n\n").split(b"\n\n")
    told = [json.loads(event.partition(b"data: ")[2]) for event in rest]
    assert [event["type"] for event in told] == (["response.failed", "error"] if end == "failed" else ["error"])
    assert [event["sequence_number"] for event in told] == list(range(3, 3 + len(told)))
    if end in ("error", "failed"):
        assert told[-1]["message"] == "no"
    assert second.requests == []


def test_such_a_server_that_fails_before_any_text_gives_way(start: Start, upstream: MockUpstream, second: MockUpstream) -> None:
    failed = {"error": {"code": "server_error", "message": "no"}, "status": "failed"}
    upstream.script(EVENTS, STREAM[0], Comment(), *events({"type": "response.failed", "response": theirs(**failed)}))
    second.script(EVENTS, *STREAM, *COMPLETED)
    assert raw_stream(start(upstream, second, **NATIVE)) == sent(*STREAM, *COMPLETED)


def test_a_conversation_moves_from_one_kind_of_server_to_another(
    tmp_path: Path, upstream: MockUpstream, second: MockUpstream
) -> None:
    rows = [provider("a", upstream.url, models=["claude"], **CLAUDE), provider("n", second.url, models=["native"], **NATIVE)]
    running = DataPlaneProcess(
        f"aliases: {{either: [claude, native]}}\ndata_dir: {tmp_path}/data\nproviders: [{', '.join(rows)}]\n", tmp_path
    )
    try:
        client = running.client()
        upstream.script(claude(THOUGHT, text("Hi")))
        first = client.responses.create(model="either", input="hello")
        upstream.script(Status(503))
        second.script(Body(theirs(model="native")), times=2)
        moved = client.responses.create(model="either", input="and you?", previous_response_id=first.id)
        assert moved.output_text == "Hi"
        asked = second.requests[-1].json
        assert "previous_response_id" not in asked
        assert [(item["role"], "id" in item) for item in asked["input"]] == [("user", False), ("assistant", False), ("user", False)]
        client.responses.create(model="native", input="so?", previous_response_id=moved.id)
        assert second.requests[-1].json["previous_response_id"] == "resp_68af"
        with pytest.raises(openai.BadRequestError, match="'resp_68af' not found"):
            client.responses.create(model="claude", input="so?", previous_response_id=moved.id)
    finally:
        running.stop()


# -- leaving


def raw_call(running: Running) -> socket.socket:
    body = json.dumps({**ASK, "stream": True}).encode()
    sock = socket.create_connection(("127.0.0.1", running.port), timeout=10)
    head = b"POST /v1/responses HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    sock.sendall(head % len(body) + body)
    return sock


def test_thirty_large_streams_dropped_at_once_leave_health_quick(start: Start, upstream: MockUpstream) -> None:
    running = start(upstream)
    piece = Event({"choices": [{"index": 0, "delta": {"content": "x" * 65536}}]})
    upstream.script(EVENTS, *[piece] * 80, times=None)
    socks = [raw_call(running) for _ in range(30)]
    for sock in socks:
        sock.recv(1000)
    for sock in socks:
        sock.close()
    with socket.create_connection(("127.0.0.1", running.port), timeout=5) as health:
        health.sendall(b"GET /health HTTP/1.1\r\nhost: a\r\n\r\n")
        assert b"200 OK" in health.recv(1000)
    assert upstream.wait_idle(10)
