"""The fields of Anthropic's answers that are read; all others are skipped."""

from typing import Any, Final

import msgspec

from antiphon.execution.wire.reading import NULL


class Block(msgspec.Struct):
    """A block of the content, whole or as it begins."""

    type: str = ""
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    data: str | None = None
    id: str | None = None
    name: str | None = None
    input: msgspec.Raw = msgspec.Raw(b"{}")


class Delta(msgspec.Struct):
    """What is new in a block, or of the end of the answer."""

    type: str = ""
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    partial_json: str | None = None
    stop_reason: str | None = None
    stop_sequence: str | None = None


class Message(msgspec.Struct):
    """A whole answer, or what is known of one that begins."""

    id: str | None = None
    model: str | None = None
    content: list[Block] | None = None
    stop_reason: str | None = None
    stop_sequence: str | None = None
    usage: msgspec.Raw = NULL
    error: Any = None


class Event(msgspec.Struct):
    """An event of a stream, whatever its type."""

    type: str = ""
    index: int = 0
    message: Message | None = None
    content_block: Block | None = None
    delta: Delta | None = None
    usage: msgspec.Raw = NULL
    error: Any = None


decode_event: Final = msgspec.json.Decoder(Event).decode
decode_message: Final = msgspec.json.Decoder(Message).decode
