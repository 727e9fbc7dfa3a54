"""What a response must look like, judged by the types of OpenAI's own package and by what its streams promise."""

import json
from typing import Any

from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from antiphon.transport import sse

_event = TypeAdapter(ResponseStreamEvent)
_response = TypeAdapter(Response)
_LIFECYCLE = ("response.created", "response.in_progress", "response.completed", "response.incomplete", "response.failed")
_DELTAS = {
    "response.output_text.delta": ("response.output_text.done", "text"),
    "response.refusal.delta": ("response.refusal.done", "refusal"),
    "response.function_call_arguments.delta": ("response.function_call_arguments.done", "arguments"),
    "response.reasoning_text.delta": ("response.reasoning_text.done", "text"),
    "response.reasoning_summary_text.delta": ("response.reasoning_summary_text.done", "text"),
}


def response_in(body: bytes) -> dict[str, Any]:
    """A response that is one."""
    _response.validate_json(body)
    told: dict[str, Any] = json.loads(body)
    return told


def events_in(raw: bytes, *, check_items: bool = True) -> list[dict[str, Any]]:
    """The events of a stream, each of them one of OpenAI's, in an order that makes sense.

    ``check_items``: what an item was when it ended, it is in the whole response too.
    """
    told = []
    for number, event in enumerate(sse.parse(raw)):
        _event.validate_json(event.data)
        data = json.loads(event.data)
        assert event.event == data["type"]
        assert data["sequence_number"] == number
        told.append(data)
    done = _check_order(told)
    if check_items and told[-1]["type"] in ("response.completed", "response.incomplete"):
        assert done == told[-1]["response"]["output"]
    return told


def _check_order(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The items that ended, in their order."""
    assert [event["type"] for event in events[:2]] == ["response.created", "response.in_progress"]
    assert len({event["response"]["id"] for event in events if "response" in event}) == 1
    opened: dict[int, dict[str, Any]] = {}
    done: dict[int, dict[str, Any]] = {}
    pieces: dict[tuple[Any, ...], str] = {}
    for event in events:
        kind, index = event["type"], event.get("output_index")
        if kind == "response.output_item.added":
            assert index == len(opened), "items are opened in their order"
            opened[index] = event["item"]
        elif kind == "response.output_item.done":
            assert index in opened.keys() - done.keys(), "an item that is open ends once"
            assert event["item"]["id"] == opened[index]["id"]
            done[index] = event["item"]
        elif kind not in _LIFECYCLE and kind != "error":
            assert index in opened.keys() - done.keys(), f"{kind} belongs to an item that is open"
            assert event["item_id"] == opened[index]["id"]
        if kind in _DELTAS:
            key = (_DELTAS[kind][0], index, event.get("content_index", event.get("summary_index")))
            pieces[key] = pieces.get(key, "") + event["delta"]
    for name, field in _DELTAS.values():
        for event in events:
            if event["type"] == name:
                key = (name, event["output_index"], event.get("content_index", event.get("summary_index")))
                assert pieces.pop(key) == event[field], f"{name} tells what its pieces made up"
    if events[-1]["type"] in ("response.completed", "response.incomplete"):
        assert pieces == {}
        assert done.keys() == opened.keys()
    return [done[index] for index in sorted(done)]
