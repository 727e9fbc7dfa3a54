"""A fixed text in every dialect that callers speak, read by the readers of that dialect."""

import json
from typing import Any

import pytest

from antiphon.core.errors import InvalidRequest
from antiphon.core.types import Call
from antiphon.execution.executor.template import TEXTUAL, Template
from antiphon.execution.wire.endpoints import ENDPOINTS
from antiphon.testing import RecordingSink

TEXT = 'We are busy: "later", please.\nThank you ☂'
USER = [{"role": "user", "content": "hello"}]
BODIES: dict[str, dict[str, Any]] = {
    "chat/completions": {"messages": USER},
    "completions": {"prompt": "hello"},
    "responses": {"input": "hello"},
    "messages": {"messages": USER, "max_tokens": 10},
    "api/chat": {"messages": USER},
    "api/generate": {"prompt": "hello"},
}


def answered(endpoint: str, *, stream: bool, **more) -> tuple[RecordingSink, Call]:
    body = json.dumps({"model": "m", "stream": stream, **BODIES[endpoint], **more}).encode()
    call = Call("req_1", endpoint, "m", body, stream, dialect=ENDPOINTS[endpoint].caller.name, wants_usage=True, trail=[])
    sink = RecordingSink()
    Template(TEXT).start(call, sink)
    return sink, call


def text_of(endpoint: str, body: bytes, *, stream: bool) -> str:
    """The text of an answer, found as a client of the dialect finds it."""
    if not stream:
        whole = json.loads(body)
        match endpoint:
            case "chat/completions":
                return whole["choices"][0]["message"]["content"]
            case "completions":
                return whole["choices"][0]["text"]
            case "responses":
                return whole["output"][0]["content"][0]["text"]
            case "messages":
                return whole["content"][0]["text"]
            case "api/chat":
                return whole["message"]["content"]
            case _:
                return whole["response"]
    lines = [line.removeprefix("data: ") for line in body.decode().splitlines() if line.startswith(("data: {", "{"))]
    events = [json.loads(line) for line in lines]
    match endpoint:
        case "chat/completions":
            return "".join(choice["delta"].get("content") or "" for event in events for choice in event["choices"])
        case "completions":
            return "".join(choice["text"] for event in events for choice in event["choices"])
        case "responses":
            return "".join(event["delta"] for event in events if event["type"] == "response.output_text.delta")
        case "messages":
            return "".join(event["delta"]["text"] for event in events if event["type"] == "content_block_delta")
        case "api/chat":
            return "".join(event["message"]["content"] for event in events)
        case _:
            return "".join(event["response"] for event in events)


def test_every_endpoint_of_texts_is_tried_here() -> None:
    assert BODIES.keys() == TEXTUAL


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("endpoint", sorted(TEXTUAL))
def test_it_says_its_text_in_every_dialect(endpoint: str, stream: bool) -> None:
    sink, call = answered(endpoint, stream=stream)
    body = b"".join(frame.raw for frame in sink.frames)
    assert (sink.status, sink.ended, sink.usage.total_tokens) == (200, True, 0)
    assert text_of(endpoint, body, stream=stream) == TEXT
    kinds = {"api/chat": b"application/x-ndjson", "api/generate": b"application/x-ndjson"}
    expected = kinds.get(endpoint, b"text/event-stream") if stream else b"application/json"
    assert dict(sink.headers)[b"content-type"] == expected
    assert call.trail == ["antiphon/template"]


def test_streams_end_as_their_dialect_wants() -> None:
    ends = {"chat/completions": b"data: [DONE]\n\n", "completions": b"data: [DONE]\n\n", "messages": b"message_stop"}
    for endpoint, end in ends.items():
        sink, _ = answered(endpoint, stream=True)
        assert end in sink.frames[-1].raw


@pytest.mark.parametrize("endpoint", ["embeddings", "messages/count_tokens", "audio/speech"])
def test_it_cannot_answer_what_wants_no_text(endpoint: str) -> None:
    sink = RecordingSink()
    Template(TEXT).start(Call("req_1", endpoint, "m", b"{}", trail=[]), sink)
    assert isinstance(sink.error, InvalidRequest)


def test_a_request_that_is_none_is_refused() -> None:
    sink, _ = answered("chat/completions", stream=False, messages="hello")
    assert isinstance(sink.error, InvalidRequest)
