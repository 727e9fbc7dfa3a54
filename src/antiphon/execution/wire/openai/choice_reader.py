"""One choice of an answer in OpenAI's words, read into events that belong to no vendor.

What imitators leave out or do twice is mended here: calls of tools without an index, with one index for all, with a new id in each
piece or none at all; thinking under either of its names; content in parts without a type; the text "null" where there is no reason
for the end yet; an end that is none, because the server gave up.
"""

from typing import Any, Final

from antiphon.core.errors import UpstreamBroken
from antiphon.execution.wire import chat_answer as neutral
from antiphon.execution.wire import reading
from antiphon.execution.wire.chat_answer import Event
from antiphon.execution.wire.openai.answer_fields import ChoicePiece, Said
from antiphon.execution.wire.openai.call_counter import CallCounter, CallFunction, CallPiece
from antiphon.execution.wire.reading import NULL

_REASONS: Final = {
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    "model_length": "length",
    "model_context_window_exceeded": "length",
    "sensitive": "content_filter",
}
"""OpenAI's, Mistral's and Zhipu's; all others are ``stop``."""
_FAILURES: Final = frozenset({"error", "insufficient_system_resource", "network_error"})
"""Reasons that say that the answer is not complete: Mistral's, DeepSeek's, Zhipu's."""


class ChoiceReader:
    """Reads the choice with this number, piece by piece or whole."""

    def __init__(self, index: int) -> None:
        self.finished = False
        self._index = index
        self._counter = CallCounter()
        self._thoughts: list[str] = []
        """What was thought since the last signature."""
        self._reason = ""
        self._stop = ""

    def take(self, choice: ChoicePiece) -> list[Event]:
        """What a piece tells. Raises UpstreamBroken where the server gave the answer up."""
        events: list[Event] = []
        part = choice.delta or choice.message
        if part is not None:
            events += self._thought(part)
            events += self._texts(part.content)
            if part.refusal:
                events.append(neutral.RefusalDelta(self._index, part.refusal))
            for call in part.tool_calls or ():
                events += self._call(call)
            if part.function_call is not None:
                events += self._call(CallPiece(0, None, part.function_call))
        if choice.logprobs != NULL:
            events.append(neutral.LogProbs(self._index, choice.logprobs))
        if choice.finish_reason and choice.finish_reason != "null":
            if choice.finish_reason in _FAILURES:
                raise UpstreamBroken(f'the model\'s server gave its answer up: "{choice.finish_reason}"')
            self.finished = True
            self._reason = _REASONS.get(choice.finish_reason, "stop")
            self._stop = choice.stop_reason if isinstance(choice.stop_reason, str) else ""
        return events

    def _thought(self, part: Said) -> list[Event]:
        events: list[Event] = []
        thought = part.reasoning_content or part.reasoning
        signed = part.thinking_blocks or ()
        if isinstance(thought, str) and thought and not any(block.thinking for block in signed):
            self._thoughts.append(thought)
            events.append(neutral.ThinkingDelta(self._index, thought))
        for block in signed:
            if block.data:
                events.append(neutral.RedactedThought(self._index, block.data))
            if block.thinking and block.thinking != "".join(self._thoughts):  # some tell it again, whole, with its signature
                events.append(neutral.ThinkingDelta(self._index, block.thinking))
            if block.signature:
                self._thoughts.clear()
                events.append(neutral.ThinkingSignature(self._index, block.signature))
        return events

    def _texts(self, content: Any) -> list[Event]:
        if isinstance(content, str):
            return [neutral.TextDelta(self._index, content)] if content else []
        events: list[Event] = []
        for part in content if isinstance(content, list) else ():
            match part:
                case {"text": str() as text} if text and part.get("type", "text") == "text":
                    events.append(neutral.TextDelta(self._index, text))
                case {"type": "thinking", "thinking": list() as thoughts}:
                    pieces = [thought.get("text") for thought in thoughts if isinstance(thought, dict)]
                    thought = "".join(piece for piece in pieces if isinstance(piece, str))
                    events.append(neutral.ThinkingDelta(self._index, thought))
        return events

    def _call(self, told: CallPiece) -> list[Event]:
        function = told.function or CallFunction()
        place = self._counter.place_of(told)
        call = self._counter.calls[place]
        arguments = function.arguments
        text = arguments if isinstance(arguments, str) else "" if arguments is None else reading.encode(arguments).decode()
        began = bool(call.name)
        if function.name and not began:
            call.name = function.name
        if text:
            call.arguments.add(text)
        if not call.name:
            return []  # its name is still to come, and nobody can be told of a call without one
        if began:
            return [neutral.ToolArguments(self._index, place, text)] if text else []
        texts = [neutral.ToolArguments(self._index, place, held) for held in call.arguments.texts]
        return [neutral.ToolCallBegan(self._index, place, call.id, call.name), *texts]

    def end(self) -> list[Event]:
        """What is told once no piece will follow."""
        reason = self._reason or "stop"
        if reason == "stop" and self._counter.calls:
            reason = "tool_calls"
        if reason == "stop" and self._stop:
            return [neutral.Finished(self._index, "stop_sequence", self._stop)]
        return [neutral.Finished(self._index, reason)]
