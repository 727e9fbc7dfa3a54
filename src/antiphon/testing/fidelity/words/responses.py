"""Answers of OpenAI's responses.

Shapes after its reference, "The response object" and "Streaming events".
"""

from typing import Any

from antiphon.testing.fidelity.case import Act, Scene
from antiphon.testing.steps import PLAIN, Body, Event, Wire

USAGE = {
    "input_tokens": 11,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 5,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 16,
}


def response(*output: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The object of an answer."""
    return {
        "id": "resp_fidelity",
        "object": "response",
        "created_at": 1_700_000_000,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": "fidelity-upstream",
        "output": list(output),
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": USAGE,
        **more,
    }


def message(text: str = "Here it is.", **more: Any) -> dict[str, Any]:
    """A message of the output."""
    return {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part(text)], **more}


def part(text: str) -> dict[str, Any]:
    """A text of a message."""
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def called(name: str, arguments: str, **more: Any) -> dict[str, Any]:
    """A call of a function in the output."""
    return {
        "id": "fc_1",
        "type": "function_call",
        "call_id": "call_1",
        "name": name,
        "arguments": arguments,
        "status": "completed",
        **more,
    }


def whole(*output: dict[str, Any], **more: Any) -> Scene:
    """An answer in one piece."""
    return Scene((Body(response(*output, **more)),))


def streamed_text(*pieces: str, wire: Wire = PLAIN) -> Scene:
    """A stream with one message."""
    text = "".join(pieces)
    return Scene(
        _events(
            *_opened_text(),
            *(
                (
                    "response.output_text.delta",
                    {"item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": piece, "logprobs": []},
                )
                for piece in pieces
            ),
            (
                "response.output_text.done",
                {"item_id": "msg_1", "output_index": 0, "content_index": 0, "text": text, "logprobs": []},
            ),
            ("response.content_part.done", {"item_id": "msg_1", "output_index": 0, "content_index": 0, "part": part(text)}),
            ("response.output_item.done", {"output_index": 0, "item": message(text)}),
            ("response.completed", {"response": response(message(text))}),
        ),
        wire,
    )


def streamed_call(name: str, *pieces: str) -> Scene:
    """A stream with one call."""
    arguments = "".join(pieces)
    begun = response(status="in_progress", usage=None)
    return Scene(
        _events(
            ("response.created", {"response": begun}),
            ("response.in_progress", {"response": begun}),
            ("response.output_item.added", {"output_index": 0, "item": called(name, "", status="in_progress")}),
            *(
                ("response.function_call_arguments.delta", {"item_id": "fc_1", "output_index": 0, "delta": piece})
                for piece in pieces
            ),
            ("response.function_call_arguments.done", {"item_id": "fc_1", "output_index": 0, "name": name, "arguments": arguments}),
            ("response.output_item.done", {"output_index": 0, "item": called(name, arguments)}),
            ("response.completed", {"response": response(called(name, arguments))}),
        )
    )


def begun(text: str, *then: Act) -> Scene:
    """A stream that has said this, and then does something else."""
    delta = {"item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": text, "logprobs": []}
    return Scene((*_events(*_opened_text(), ("response.output_text.delta", delta)), *then))


def _opened_text() -> list[tuple[str, dict[str, Any]]]:
    begun = response(status="in_progress", usage=None)
    return [
        ("response.created", {"response": begun}),
        ("response.in_progress", {"response": begun}),
        ("response.output_item.added", {"output_index": 0, "item": {**message(status="in_progress"), "content": []}}),
        ("response.content_part.added", {"item_id": "msg_1", "output_index": 0, "content_index": 0, "part": part("")}),
    ]


def _events(*told: tuple[str, dict[str, Any]]) -> tuple[Act, ...]:
    return tuple(Event({"type": kind, "sequence_number": number, **fields}, kind) for number, (kind, fields) in enumerate(told))
