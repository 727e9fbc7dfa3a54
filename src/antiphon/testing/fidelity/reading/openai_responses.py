"""Answers of OpenAI's responses, streamed or in one piece; a stream's deltas must say what its last event says."""

from typing import Any

import msgspec

from antiphon.testing.fidelity.outcome import Outcome, decoded, miss, shown
from antiphon.testing.fidelity.reading.events import events, shaped, succeeded, told, without_error
from antiphon.testing.fidelity.reading.reply import Called, Reply

ENDS = ("response.completed", "response.incomplete")
"""The last events of a stream that did not fail."""


class _Content(msgspec.Struct):
    type: str
    text: str | None = None
    refusal: str | None = None


class _Item(msgspec.Struct):
    type: str
    content: list[_Content] | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None


class _Incomplete(msgspec.Struct):
    reason: str | None = None


class _Response(msgspec.Struct):
    id: str
    object: str
    model: str
    output: list[_Item]
    status: str
    usage: dict[str, Any] | None = None
    incomplete_details: _Incomplete | None = None


class _Event(msgspec.Struct):
    type: str
    sequence_number: int
    delta: str | None = None
    output_index: int | None = None
    response: Any = None


def read(outcome: Outcome) -> Reply:
    """The answer. Raises Miss where it is none, or where its parts say different things."""
    body = succeeded(outcome)
    if not outcome.streamed:
        value = decoded(body, "the answer")
        return _reply([value], value)
    for event in events(body):
        if event.data.strip() != "[DONE]" and event.event not in ("", decoded(event.data.encode(), "an event").get("type")):
            miss(f'an event is named "{event.event}" and is of another type: {shown(event.data)}')
    return _streamed(without_error(told(body)))


def _streamed(objects: list[dict[str, Any]]) -> Reply:
    stream = [shaped(value, _Event, "an event") for value in objects]
    if not stream or stream[0].type != "response.created":
        miss(f"the stream does not begin with response.created: {shown(objects[:1])}")
    if stream[-1].type not in ENDS:
        miss(f"the stream does not end with response.completed: {shown(objects[-1])}")
    numbers = [event.sequence_number for event in stream]
    if numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        miss(f"the events are not numbered in order: {shown(numbers)}")
    reply = _reply(objects, stream[-1].response)
    spoken = reply.choice(0)
    text = "".join(event.delta or "" for event in stream if event.type == "response.output_text.delta")
    arguments = "".join(event.delta or "" for event in stream if event.type == "response.function_call_arguments.delta")
    if text != spoken.text:
        miss(f"the deltas say {shown(text)}, the last event {shown(spoken.text)}")
    if arguments != "".join(call.arguments for call in spoken.calls):
        miss(f"the deltas call with {shown(arguments)}, the last event with {shown([call.arguments for call in spoken.calls])}")
    return reply


def _reply(objects: list[dict[str, Any]], value: Any) -> Reply:
    response = shaped(value, _Response, "the answer")
    reply = Reply(objects=objects, usage=[response.usage] if response.usage is not None else [])
    spoken = reply.choice(0)
    spoken.raw = value
    spoken.finish = response.status
    spoken.stop = response.incomplete_details.reason if response.incomplete_details is not None else None
    for item in response.output:
        if item.type == "function_call":
            spoken.calls.append(Called(item.name or "", item.call_id or "", item.arguments or ""))
        for part in item.content or ():
            spoken.text += (part.text or "") if part.type == "output_text" else ""
            spoken.refusal += part.refusal or ""
    return reply
