"""The fields of Bedrock's answers that are read; all others are skipped.

Shapes after the service model of ``bedrock-runtime``, version 2023-09-30.
"""

from typing import Final

import msgspec

from antiphon.execution.wire.reading import NULL, Count


class Usage(msgspec.Struct, rename="camel"):
    """What was used."""

    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None
    cache_write_input_tokens: Count | None = None


class Text(msgspec.Struct):
    """Words, and the signature of those that were thought."""

    text: str = ""
    signature: str | None = None


class Reasoning(msgspec.Struct, rename="camel"):
    """What the model thinks."""

    text: str | None = None
    signature: str | None = None
    redacted_content: str | None = None
    reasoning_text: Text | None = None
    """The three before are of a stream's pieces, this one of a whole answer."""


class ToolUse(msgspec.Struct, rename="camel"):
    """A call of a tool."""

    tool_use_id: str = ""
    name: str = ""
    input: msgspec.Raw = msgspec.Raw(b"{}")


class Cited(msgspec.Struct):
    """Words that have their source."""

    content: list[Text] = []


class Block(msgspec.Struct, rename="camel"):
    """A block of a whole answer, the beginning of one in a stream, or a piece of it."""

    text: str | None = None
    tool_use: ToolUse | None = None
    reasoning_content: Reasoning | None = None
    citations_content: Cited | None = None


class Event(msgspec.Struct, rename="camel"):
    """The payload of a frame, whatever its name."""

    content_block_index: int = 0
    start: Block | None = None
    delta: Block | None = None
    stop_reason: str | None = None
    usage: msgspec.Raw = NULL


class Failure(msgspec.Struct, rename="camel"):
    """The payload of a frame that ends a stream with an error."""

    message: str | None = None
    original_message: str | None = None
    original_status_code: int | None = None


class Message(msgspec.Struct):
    """What a whole answer says."""

    content: list[Block] | None = None


class Output(msgspec.Struct):
    """What holds it."""

    message: Message | None = None


class Answer(msgspec.Struct, rename="camel"):
    """A whole answer."""

    output: Output | None = None
    stop_reason: str | None = None
    usage: msgspec.Raw = NULL


decode_event: Final = msgspec.json.Decoder(Event).decode
decode_exception: Final = msgspec.json.Decoder(Failure).decode
decode_answer: Final = msgspec.json.Decoder(Answer).decode
decode_usage: Final = msgspec.json.Decoder(Usage | None).decode
decode_text: Final = msgspec.json.Decoder(str).decode
