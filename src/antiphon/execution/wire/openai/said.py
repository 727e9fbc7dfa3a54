"""Texts in answers of OpenAI's chats and completions, of transcriptions, and of lists that give callers their own texts back."""

from collections.abc import Iterable
from typing import Any, Final

from antiphon.execution.wire.said import Channel, Spot, number, objects, texts

_THOUGHTS: Final = ("reasoning_content", "reasoning")
_WORDS: Final = ("content", "refusal")
_ALONE: Final = frozenset(("role", *_THOUGHTS, *_WORDS, "text"))


class OpenAISpeech:
    """``choices`` with ``message``, ``delta`` or ``text``."""

    repeats = False

    def whole(self, answer: dict[str, Any]) -> Iterable[Spot]:
        spots = texts(answer, ("text",))
        for choice in objects(answer.get("choices")):
            spots += [*texts(choice, ("text",)), *_message(choice.get("message"), None)]
        for segment in objects(answer.get("segments")):
            spots += texts(segment, ("text",))
        for result in objects(answer.get("results")):
            spots += texts(result.get("document"), ("text",))
        return spots

    def pieces(self, event: dict[str, Any]) -> Iterable[Spot]:
        spots: list[Spot] = []
        for choice in objects(event.get("choices")):
            index = number(choice.get("index"))
            spots += [*texts(choice, ("text",), (index,)), *_message(choice.get("delta"), index)]
        if event.get("type") == "transcript.text.delta":
            spots += texts(event, ("delta",), ("transcript",))
        elif event.get("type") == "transcript.text.done":
            spots += texts(event, ("text",))
        return spots

    def ends(self, event: dict[str, Any]) -> Iterable[Channel]:
        if event.get("type") == "transcript.text.done":
            yield ("transcript",)
        for choice in objects(event.get("choices")):
            index = number(choice.get("index"))
            delta = choice.get("delta")
            if choice.get("finish_reason"):
                yield (index,)
            elif isinstance(delta, dict) and (delta.get("content") or delta.get("tool_calls")):
                for name in _THOUGHTS:
                    yield index, name

    def more(self, event: dict[str, Any], channel: Channel, text: str) -> dict[str, Any]:
        if channel[0] == "transcript":
            return {**event, "delta": text}
        index, *place = channel
        choice: dict[str, Any] = {"index": index, "finish_reason": None}
        if place == ["text"]:
            choice |= {"text": text, "logprobs": None}
        elif len(place) == 1:
            choice["delta"] = {place[0]: text}
        elif place[0] == "tool_calls":
            part = {"function": {"arguments": text}} if place[2] == "arguments" else {"custom": {"input": text}}
            choice["delta"] = {"tool_calls": [{"index": place[1], **part}]}
        else:
            choice["delta"] = {place[0]: {place[-1]: text}}
        return {name: value for name, value in event.items() if name not in ("choices", "usage")} | {"choices": [choice]}

    def bare(self, event: dict[str, Any]) -> bool:
        if event.get("type") == "transcript.text.delta":
            return True
        choices = objects(event.get("choices"))
        return bool(choices) and not event.get("usage") and all(_is_bare(choice) for choice in choices)

    def forget_tokens(self, answer: dict[str, Any]) -> bool:
        told = [choice for choice in objects(answer.get("choices")) if choice.get("logprobs")]
        for choice in told:
            choice["logprobs"] = None
        return bool(told)


def _is_bare(choice: dict[str, Any]) -> bool:
    delta = choice.get("delta")
    if choice.get("finish_reason"):
        return False
    if not isinstance(delta, dict):
        return "text" in choice
    if "role" in delta or not delta:
        return False
    calls = objects(delta.get("tool_calls"))
    if calls:
        return delta.keys() == {"tool_calls"} and all(not call.get("id") and not _name(call) for call in calls)
    return delta.keys() <= _ALONE


def _name(call: dict[str, Any]) -> Any:
    function = call.get("function")
    return function.get("name") if isinstance(function, dict) else None


def _message(message: Any, index: int | None) -> list[Spot]:
    """Texts of a message; those of a piece of one where it has an index."""
    if not isinstance(message, dict):
        return []
    channel: Channel | None = None if index is None else (index,)
    spots = texts(message, (*_THOUGHTS, *_WORDS), channel)
    for part in objects(message.get("content")):
        spots += texts(part, ("text", "refusal"))
    for call in objects(message.get("tool_calls")):
        below = None if channel is None else (*channel, "tool_calls", number(call.get("index")))
        spots += texts(call.get("function"), ("arguments",), below, "json")
        spots += texts(call.get("custom"), ("input",), below)
    spots += texts(
        message.get("function_call"), ("arguments",), None if channel is None else (*channel, "function_call", 0), "json"
    )
    spots += texts(message.get("audio"), ("transcript",), None if channel is None else (*channel, "audio"))
    return spots


SPEECH: Final = OpenAISpeech()
