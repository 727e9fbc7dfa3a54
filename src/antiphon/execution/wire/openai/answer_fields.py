"""The fields of an answer of OpenAI's chat endpoint that are read where it is translated; all others are skipped."""

from typing import Any, Final

import msgspec

from antiphon.execution.wire.openai.call_counter import CallFunction, CallPiece
from antiphon.execution.wire.openai.fields import UsageFields
from antiphon.execution.wire.reading import NULL


class Thought(msgspec.Struct):
    """A thought with what its vendor wants back."""

    thinking: str | None = None
    signature: str | None = None
    data: str | None = None


class Said(msgspec.Struct):
    """What a choice or a piece of it says."""

    content: Any = None
    refusal: str | None = None
    reasoning_content: Any = None
    reasoning: Any = None
    thinking_blocks: list[Thought] | None = None
    tool_calls: list[CallPiece] | None = None
    function_call: CallFunction | None = None


class ChoicePiece(msgspec.Struct):
    """A whole choice, or a piece of a streamed one."""

    index: int | None = None
    delta: Said | None = None
    message: Said | None = None
    finish_reason: str | None = None
    stop_reason: Any = None
    logprobs: msgspec.Raw = NULL
    usage: msgspec.Raw = NULL
    """Where Moonshot tells what was used by a stream."""


class Groq(msgspec.Struct):
    """Where Groq tells what was used by a stream."""

    usage: msgspec.Raw = NULL


class Answer(msgspec.Struct):
    """A whole answer, or a chunk of a streamed one."""

    id: str | None = None
    model: str | None = None
    created: Any = None
    choices: list[ChoicePiece] | None = None
    usage: msgspec.Raw = NULL
    x_groq: Groq | None = None
    error: Any = None


decode_answer: Final = msgspec.json.Decoder(Answer).decode
decode_usage: Final = msgspec.json.Decoder(UsageFields | None).decode
