"""The fields of DashScope's answers that are read; all others are skipped.

Shapes after Alibaba's documentation, "DashScope API reference" of Model Studio, and its Python SDK.
"""

from typing import Any, Final

import msgspec

from antiphon.execution.wire.openai.answer_fields import ChoicePiece
from antiphon.execution.wire.reading import NULL, Count


class PromptDetails(msgspec.Struct):
    """Of the prompt."""

    cached_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None


class OutputDetails(msgspec.Struct):
    """Of the answer."""

    reasoning_tokens: Count | None = None


class Usage(msgspec.Struct):
    """What was used."""

    input_tokens: Count | None = None
    output_tokens: Count | None = None
    total_tokens: Count | None = None
    prompt_tokens_details: PromptDetails | None = None
    output_tokens_details: OutputDetails | None = None


class Output(msgspec.Struct):
    """The choices; models that know no messages give a text alone."""

    choices: list[ChoicePiece] | None = None
    text: str | None = None
    finish_reason: str | None = None


class Answer(msgspec.Struct):
    """A whole answer, or a chunk of a streamed one."""

    output: Output | None = None
    usage: msgspec.Raw = NULL
    request_id: str | None = None
    code: Any = None
    message: Any = None


decode_answer: Final = msgspec.json.Decoder(Answer).decode
decode_usage: Final = msgspec.json.Decoder(Usage | None).decode
