"""Answers of Ollama's chat: lines of JSON, or one object."""

from typing import Any

import msgspec

from antiphon.testing.fidelity.outcome import Outcome, decoded, miss, shown
from antiphon.testing.fidelity.reading.events import shaped, succeeded
from antiphon.testing.fidelity.reading.reply import Called, Reply, Thought

COUNTS = ("prompt_eval_count", "eval_count")
"""The fields in which the last line tells the usage."""


class _Function(msgspec.Struct):
    name: str
    arguments: dict[str, Any]


class _Call(msgspec.Struct):
    function: _Function


class _Message(msgspec.Struct):
    role: str
    content: str
    thinking: str | None = None
    tool_calls: list[_Call] | None = None


class _Line(msgspec.Struct):
    model: str
    created_at: str
    done: bool
    message: _Message
    done_reason: str | None = None
    prompt_eval_count: int | None = None
    eval_count: int | None = None


def read(outcome: Outcome) -> Reply:
    """The answer. Raises Miss where it is none."""
    body = succeeded(outcome)
    lines = body.splitlines() if outcome.streamed else [body]
    objects = [decoded(line, "a line") for line in lines if line.strip()]
    reply = Reply(objects=objects)
    spoken = reply.choice(0)
    for at, value in enumerate(objects):
        line = shaped(value, _Line, "a line")
        if line.done != (at == len(objects) - 1):
            miss(f"line {at} of {len(objects)} says done: {shown(line.done)}")
        spoken.text += line.message.content
        spoken.thoughts += [Thought(line.message.thinking)] if line.message.thinking else []
        for call in line.message.tool_calls or ():
            arguments = msgspec.json.encode(call.function.arguments).decode()
            spoken.calls.append(Called(call.function.name, arguments=arguments))
        spoken.finish = line.done_reason or spoken.finish
        if line.done:
            reply.usage.append({name: getattr(line, name) for name in COUNTS})
    if not objects:
        miss("the answer is empty")
    return reply
