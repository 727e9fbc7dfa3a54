"""Requests and answers of Anthropic's API.

Shapes after its documentation, "Create a Message" and "Streaming Messages".
"""

from collections.abc import Sequence
from typing import Any

from antiphon.testing.fidelity.case import MARK, Act, Scene
from antiphon.testing.steps import PLAIN, Body, Event, Header, Status, Wire

HEADERS = (("anthropic-version", "2023-06-01"),)
SIGNATURE = "EpABCgIYAhIMc2lnbmF0dXJlLW9uZQ=="
"""Of thinking: base64 of a binary message, as Anthropic's are. Text in base64 could be taken for another vendor's."""
REDACTED = "EqQBCgIYAhIMZmlkZWxpdHktb25lGgxyZWRhY3RlZC1vbmU="
"""Encrypted thinking, the same."""
USAGE = {"input_tokens": 11, "output_tokens": 5}


def user(content: Any = "Say it.") -> dict[str, Any]:
    """A message of the user, with the mark of the case: behind a text, or as the last of several blocks."""
    if isinstance(content, str):
        return {"role": "user", "content": f"{content} {MARK}"}
    return {"role": "user", "content": [*content, {"type": "text", "text": MARK}]}


def ask(content: Any = "Say it.", **more: Any) -> dict[str, Any]:
    """A request for an answer in one piece."""
    return {"max_tokens": 100, "messages": [user(content)], **more}


def stream(content: Any = "Say it.", **more: Any) -> dict[str, Any]:
    """A request for a streamed answer."""
    return ask(content, stream=True, **more)


def tool(name: str = "weather", **more: Any) -> dict[str, Any]:
    """A tool that takes a city."""
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    return {"name": name, "description": f"Tells the {name}.", "input_schema": schema, **more}


# -- answering in events


def event(kind: str, **fields: Any) -> Event:
    """An event that is named by its type."""
    return Event({"type": kind, **fields}, kind)


def start(usage: dict[str, Any] | None = None) -> Event:
    """The first event."""
    begun = {**(usage or USAGE), "output_tokens": 1}
    return event("message_start", message=message(usage=begun, stop_reason=None))


def message(*content: dict[str, Any], usage: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """The object of an answer."""
    return {
        "id": "msg_fidelity",
        "type": "message",
        "role": "assistant",
        "model": "fidelity-upstream",
        "content": list(content),
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": usage or USAGE,
        **more,
    }


def block(index: int, first: dict[str, Any], *deltas: dict[str, Any]) -> list[Event]:
    """A block from its start to its stop."""
    return [
        event("content_block_start", index=index, content_block=first),
        *(event("content_block_delta", index=index, delta=one) for one in deltas),
        event("content_block_stop", index=index),
    ]


def text(index: int, *pieces: str) -> list[Event]:
    """A block of text."""
    return block(index, {"type": "text", "text": ""}, *({"type": "text_delta", "text": piece} for piece in pieces))


def call(index: int, call_id: str, name: str, *pieces: str) -> list[Event]:
    """A block that calls a tool."""
    first = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
    return block(index, first, *({"type": "input_json_delta", "partial_json": piece} for piece in pieces))


def thought(index: int, *pieces: str, signature: str = SIGNATURE) -> list[Event]:
    """A block of thinking."""
    deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces]
    first = {"type": "thinking", "thinking": "", "signature": ""}
    return block(index, first, *deltas, {"type": "signature_delta", "signature": signature})


def end(reason: str = "end_turn", stop: str | None = None, usage: dict[str, Any] | None = None) -> list[Event]:
    """The last events."""
    told = {name: value for name, value in (usage or USAGE).items() if name != "input_tokens"}
    delta = {"stop_reason": reason, "stop_sequence": stop}
    return [event("message_delta", delta=delta, usage=told), event("message_stop")]


def streamed(
    *blocks: Sequence[Act],
    reason: str = "end_turn",
    stop: str | None = None,
    usage: dict[str, Any] | None = None,
    wire: Wire = PLAIN,
) -> Scene:
    """A stream as Anthropic makes it."""
    acts = [act for one in blocks for act in one]
    return Scene((start(usage), event("ping"), *acts, *end(reason, stop, usage)), wire)


# -- answering in one piece


def whole(*content: dict[str, Any], **more: Any) -> Scene:
    """An answer."""
    return Scene((Body(message(*content, **more)),))


def said(text: str = "Here it is.") -> dict[str, Any]:
    """A block of text."""
    return {"type": "text", "text": text}


def called(call_id: str = "toolu_1", name: str = "weather", **arguments: Any) -> dict[str, Any]:
    """A block that calls a tool."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def error(status: int, kind: str, words: str, retry_after: str = "") -> Scene:
    """An error."""
    wait = (Header("retry-after", retry_after),) if retry_after else ()
    return Scene((Status(status), *wait, Body({"type": "error", "error": {"type": kind, "message": words}})))
