"""Thoughts that another vendor signed, taken out of a request that else goes on as it came: Anthropic refuses them.

Its callers got them from us, when another model answered, and rightly send them back.
"""

from typing import Any, Final

import msgspec

from antiphon.execution.wire.reading import UNREADABLE, encode
from antiphon.execution.wire.signatures import MARK

_SIGNED: Final = b'"' + MARK.encode()


class _Block(msgspec.Struct):
    type: str = ""
    signature: str | None = None


_decode_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_messages = msgspec.json.Decoder(list[dict[str, msgspec.Raw]]).decode
_decode_blocks = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode_block = msgspec.json.Decoder(_Block).decode


def without_foreign_thoughts(body: bytes) -> bytes:
    """``body`` without them; untouched where it has none, or is no request."""
    if _SIGNED not in body:
        return body
    try:
        fields: dict[str, Any] = {**_decode_fields(body)}
        messages = _decode_messages(fields["messages"])
        kept = [_without(message) for message in messages]
    except (*UNREADABLE, KeyError):
        return body
    if kept == messages:
        return body  # the mark stood in a text
    fields["messages"] = [message for message in kept if message is not None]
    return encode(fields)


def _without(message: dict[str, msgspec.Raw]) -> dict[str, Any] | None:
    """The message without them; None where nothing else was in it."""
    content = message.get("content", msgspec.Raw())
    if _SIGNED not in bytes(content) or not bytes(content).lstrip().startswith(b"["):
        return message
    blocks = _decode_blocks(content)
    kept = [raw for raw in blocks if not _is_foreign(_decode_block(raw))]
    if len(kept) == len(blocks):
        return message
    return {**message, "content": kept} if kept else None


def _is_foreign(block: _Block) -> bool:
    return block.type == "thinking" and block.signature is not None and block.signature.startswith(MARK)
