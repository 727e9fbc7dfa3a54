"""Texts in answers of OpenAI's responses."""

from collections.abc import Iterable
from typing import Any, Final

from antiphon.execution.wire.said import Channel, Form, Spot, number, objects, texts

_PLAIN: Final = ("text", "refusal", "transcript")
_KINDS: Final[dict[str, Form]] = {
    "response.output_text": "text",
    "response.refusal": "text",
    "response.reasoning_text": "text",
    "response.reasoning_summary_text": "text",
    "response.function_call_arguments": "json",
    "response.mcp_call_arguments": "json",
    "response.custom_tool_call_input": "text",
    "response.audio_transcript": "text",
    "response.code_interpreter_call_code": "text",
}
_BEGINNINGS: Final = ("response.created", "response.in_progress", "response.queued")


class ResponsesSpeech:
    """``output`` items, and the events that build them up: each text comes in pieces first and as a whole afterwards."""

    repeats = True

    def whole(self, answer: dict[str, Any]) -> Iterable[Spot]:
        return [spot for item in objects(answer.get("output")) for spot in _item(item)]

    def pieces(self, event: dict[str, Any]) -> Iterable[Spot]:
        kind, _, end = str(event.get("type")).rpartition(".")
        form = _KINDS.get(kind)
        if form is not None and end == "delta":
            channel = _channel(event, kind)
            return [Spot(event, "delta", form, channel)] if isinstance(event.get("delta"), str) else []
        if form is not None:
            return [*texts(event, _PLAIN), *texts(event, ("arguments",), None, "json"), *texts(event, ("input", "code"))]
        spots: list[Spot] = []
        if isinstance(item := event.get("item"), dict):
            spots += _item(item)
        if isinstance(event.get("part"), dict):
            spots += texts(event["part"], _PLAIN)
        if isinstance(response := event.get("response"), dict):
            spots += self.whole(response)
        return spots

    def ends(self, event: dict[str, Any]) -> Iterable[Channel]:
        kind = str(event.get("type"))
        if kind.endswith(".done"):
            if kind.removesuffix(".done") in _KINDS:
                yield _channel(event, kind.removesuffix(".done"))
            else:
                yield (number(event.get("output_index")),)
        elif isinstance(event.get("response"), dict) and kind not in _BEGINNINGS:
            yield ()

    def more(self, event: dict[str, Any], channel: Channel, text: str) -> dict[str, Any]:
        return {**event, "delta": text}

    def bare(self, event: dict[str, Any]) -> bool:
        kind, _, end = str(event.get("type")).rpartition(".")
        return end == "delta" and kind in _KINDS

    def forget_tokens(self, answer: dict[str, Any]) -> bool:
        told = [holder for holder in _token_holders(answer) if holder.get("logprobs")]
        for holder in told:
            holder["logprobs"] = []
        return bool(told)


def _token_holders(answer: dict[str, Any]) -> Iterable[dict[str, Any]]:
    yield answer
    response = answer.get("response")
    items = objects((response if isinstance(response, dict) else answer).get("output"))
    for item in (*items, *objects([answer.get("item")])):
        yield from objects(item.get("content"))
    yield from objects([answer.get("part")])


def _channel(event: dict[str, Any], kind: str) -> Channel:
    within = event.get("content_index", event.get("summary_index"))
    return number(event.get("output_index")), kind, number(within)


def _item(item: dict[str, Any]) -> list[Spot]:
    spots = [*texts(item, ("arguments",), None, "json"), *texts(item, ("input", "output", "code"))]
    for part in (*objects(item.get("content")), *objects(item.get("summary"))):
        spots += texts(part, _PLAIN)
    return spots


SPEECH: Final = ResponsesSpeech()
