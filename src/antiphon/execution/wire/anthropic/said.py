"""Texts in answers of Anthropic's messages."""

from collections.abc import Iterable
from typing import Any, Final

from antiphon.execution.wire.said import Channel, Spot, number, objects, texts

_DELTAS: Final = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
_TYPES: Final = {field: kind for kind, field in _DELTAS.items()}


class AnthropicSpeech:
    """``content`` blocks. Thoughts are signed, so one whose text is changed cannot be given back to the model."""

    repeats = False

    def whole(self, answer: dict[str, Any]) -> Iterable[Spot]:
        return [spot for block in objects(answer.get("content")) for spot in _block(block)]

    def pieces(self, event: dict[str, Any]) -> Iterable[Spot]:
        match event.get("type"):
            case "content_block_delta":
                delta = event.get("delta")
                field = _DELTAS.get(str(delta.get("type"))) if isinstance(delta, dict) else None
                if field is not None:
                    channel = (number(event.get("index")),)
                    return texts(delta, (field,), channel, "json" if field == "partial_json" else "text")
                return texts(delta.get("citation"), ("cited_text",)) if isinstance(delta, dict) else []
            case "content_block_start":
                block = event.get("content_block")
                return _block(block) if isinstance(block, dict) else []
            case "message_start":
                message = event.get("message")
                return self.whole(message) if isinstance(message, dict) else []
        return []

    def ends(self, event: dict[str, Any]) -> Iterable[Channel]:
        kind = event.get("type")
        if kind == "content_block_stop":
            yield (number(event.get("index")),)
        elif kind == "content_block_delta":
            delta = event.get("delta")
            if isinstance(delta, dict) and delta.get("type") == "signature_delta":
                yield (number(event.get("index")),)
        elif kind in ("message_delta", "message_stop"):
            yield ()

    def more(self, event: dict[str, Any], channel: Channel, text: str) -> dict[str, Any]:
        index, field = channel
        return {"type": "content_block_delta", "index": index, "delta": {"type": _TYPES[str(field)], str(field): text}}

    def bare(self, event: dict[str, Any]) -> bool:
        delta = event.get("delta")
        return event.get("type") == "content_block_delta" and isinstance(delta, dict) and delta.get("type") in _DELTAS

    def forget_tokens(self, answer: dict[str, Any]) -> bool:
        return False


def _block(block: dict[str, Any]) -> list[Spot]:
    spots = texts(block, ("text", "thinking"))
    if isinstance(block.get("input"), dict):
        spots.append(Spot(block, "input", "tree"))
    for citation in objects(block.get("citations")):
        spots += texts(citation, ("cited_text",))
    return spots


SPEECH: Final = AnthropicSpeech()
