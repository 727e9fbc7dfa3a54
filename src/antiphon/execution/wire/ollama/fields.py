"""The fields of Ollama's answers, one line of a stream and a whole answer being of one shape; all others are skipped unread."""

from typing import Any

import msgspec

from antiphon.core.types import Usage
from antiphon.execution.wire.reading import NULL

MAX_COUNT = 2**53
"""A count of tokens beyond this is none."""


class Function(msgspec.Struct):
    """What is called. The arguments are an object, in one piece."""

    name: str | None = None
    arguments: msgspec.Raw = NULL


class Call(msgspec.Struct):
    """A call of a tool; only newer servers give it an id."""

    id: str | None = None
    function: Function | None = None


class Said(msgspec.Struct):
    """What a line of ``/api/chat`` adds."""

    content: str | None = None
    thinking: str | None = None
    tool_calls: list[Call] | None = None


class Line(msgspec.Struct):
    """A line of a stream, or a whole answer. ``response`` is what ``/api/generate`` has in place of a message."""

    model: str | None = None
    created_at: Any = None
    message: Said | None = None
    response: str | None = None
    thinking: str | None = None
    done: bool | None = None
    done_reason: str | None = None
    prompt_eval_count: Any = None
    eval_count: Any = None
    logprobs: msgspec.Raw = NULL
    error: Any = None


class Counts(msgspec.Struct):
    """A whole answer, as far as a gateway looks into one that it passes on; embeddings have no ``eval_count``."""

    prompt_eval_count: Any = None
    eval_count: Any = None
    error: Any = None


decode_line = msgspec.json.Decoder(Line).decode
decode_counts = msgspec.json.Decoder(Counts).decode


def usage_of(told: Line | Counts) -> Usage | None:
    """What was used, None where the server tells none. A server that has the prompt in its cache may leave out its count."""
    prompt, completion = _count(told.prompt_eval_count), _count(told.eval_count)
    if prompt is None and completion is None:
        return None
    prompt, completion = prompt or 0, completion or 0
    return Usage(prompt, completion, prompt + completion)


def _count(told: Any) -> int | None:
    """The count that was told; what is none is not told on."""
    return told if type(told) is int and 0 <= told < MAX_COUNT else None
