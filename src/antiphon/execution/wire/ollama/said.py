"""Texts in answers of Ollama's chat and generate."""

from collections.abc import Iterable
from typing import Any, Final

from antiphon.execution.wire.said import Channel, Spot, objects, texts

_SPOKEN: Final = frozenset(("role", "content", "thinking"))


class OllamaSpeech:
    """``message`` or ``response``, in one object or, streamed, in many."""

    repeats = False

    def whole(self, answer: dict[str, Any]) -> Iterable[Spot]:
        message = answer.get("message")
        return [*texts(answer, ("response", "thinking")), *texts(message, ("content", "thinking")), *_calls(message)]

    def pieces(self, event: dict[str, Any]) -> Iterable[Spot]:
        message = event.get("message")
        below: Channel = ("message",)
        return [*texts(event, ("thinking", "response"), ()), *texts(message, ("thinking", "content"), below), *_calls(message)]

    def ends(self, event: dict[str, Any]) -> Iterable[Channel]:
        message = event.get("message")
        if event.get("done"):
            yield ()
        elif event.get("response"):
            yield ("thinking",)
        elif isinstance(message, dict) and (message.get("content") or message.get("tool_calls")):
            yield "message", "thinking"

    def more(self, event: dict[str, Any], channel: Channel, text: str) -> dict[str, Any]:
        further: dict[str, Any] = {name: event[name] for name in ("model", "created_at") if name in event}
        if channel[0] == "message":
            return {**further, "message": {"role": "assistant", "content": "", str(channel[1]): text}, "done": False}
        return {**further, "response": "", str(channel[0]): text, "done": False}

    def bare(self, event: dict[str, Any]) -> bool:
        message = event.get("message")
        return not event.get("done") and (message is None or (isinstance(message, dict) and message.keys() <= _SPOKEN))

    def forget_tokens(self, answer: dict[str, Any]) -> bool:
        return bool(answer.pop("logprobs", None))


def _calls(message: Any) -> list[Spot]:
    calls = objects(message.get("tool_calls")) if isinstance(message, dict) else []
    functions = [call["function"] for call in calls if isinstance(call.get("function"), dict)]
    return [Spot(function, "arguments", "tree") for function in functions if "arguments" in function]


SPEECH: Final = OllamaSpeech()
