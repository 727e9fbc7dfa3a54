"""An answer of Ollama's ``/api/chat``, read into events that belong to no vendor.

Shapes after Ollama's API documentation. A call of a tool comes whole there, its arguments an object; older servers give it no
id, and each line may count its calls anew, so ids are made and calls are counted here.
"""

import secrets
from datetime import datetime
from typing import Any, Final

import msgspec

from antiphon.core.errors import UpstreamBroken
from antiphon.execution.wire import chat_answer as neutral
from antiphon.execution.wire import reading
from antiphon.execution.wire.chat_answer import Event
from antiphon.execution.wire.ollama import logprobs
from antiphon.execution.wire.ollama.fields import Call, Function, Line, Said, decode_line, usage_of
from antiphon.execution.wire.reading import NULL
from antiphon.execution.wire.said_errors import said
from antiphon.execution.wire.wrong_values import is_object
from antiphon.transport import lines

_WHAT: Final = "Ollama's chat endpoint"
_REASONS: Final = {"length": "length", "content_filter": "content_filter", "refusal": "refusal"}
"""All others are ``stop``, or ``tool_calls`` where tools were called, for which Ollama has no word of its own."""


class AnswerReader:
    """Reads the lines of one streamed answer."""

    def __init__(self) -> None:
        self._began = False
        self._ended = False
        self._ids: dict[str, None] = {}
        """Of the calls so far, in their order."""

    def feed(self, raw: bytes) -> list[Event]:
        """What whole lines tell. Raises UpstreamBroken where they are not the JSON of an answer."""
        events: list[Event] = []
        for line in lines.split(raw):
            if self._ended:
                break
            if line.strip():
                events += self._read(reading.decode_answer(decode_line, line, _WHAT))
        return events

    def end(self) -> list[Event]:
        """Nothing is left behind the last line. Raises UpstreamBroken where it never came."""
        if not self._ended:
            raise UpstreamBroken
        return []

    def read_whole(self, body: bytes) -> list[Event]:
        """The events of an answer that was not streamed. Raises UpstreamBroken where it is none, or not all of it."""
        answer = reading.decode_answer(decode_line, body, _WHAT)
        if not answer.error and answer.message is None:
            raise UpstreamBroken("the model's server answered without a message")
        events = self._read(answer)
        if answer.done is False:
            raise UpstreamBroken("the model's server answered with no more than the beginning of a stream")
        return events if self._ended else [*events, *self._end(answer)]

    def _read(self, line: Line) -> list[Event]:
        if line.error:
            self._ended = True
            return [said(line.error, 502), neutral.Ended()]
        events: list[Event] = []
        if not self._began:
            self._began = True
            events.append(neutral.Began("", line.model or "", _seconds(line.created_at)))
        if line.message is not None:
            events += self._said(line.message)
        if line.logprobs != NULL:
            told = logprobs.to_openai(line.logprobs)
            events += [neutral.LogProbs(0, told)] if told is not None else []
        return [*events, *self._end(line)] if line.done else events

    def _said(self, message: Said) -> list[Event]:
        events: list[Event] = []
        if message.thinking:
            events.append(neutral.ThinkingDelta(0, message.thinking))
        if message.content:
            events.append(neutral.TextDelta(0, message.content))
        for call in message.tool_calls or ():
            events += self._call(call)
        return events

    def _call(self, call: Call) -> list[Event]:
        function = call.function or Function()
        if not function.name:
            raise UpstreamBroken("the model's server told of a call of a tool without its name")
        number = len(self._ids)
        identity = call.id if call.id and call.id not in self._ids else f"call_{secrets.token_hex(12)}"
        self._ids[identity] = None
        return [
            neutral.ToolCallBegan(0, number, identity, function.name),
            neutral.ToolArguments(0, number, _arguments(function.arguments)),
        ]

    def _end(self, line: Line) -> list[Event]:
        self._ended = True
        reason = _REASONS.get(line.done_reason or "") or ("tool_calls" if self._ids else "stop")
        usage = usage_of(line)
        counted: list[Event] = [neutral.Counted(usage)] if usage is not None else []
        return [neutral.Finished(0, reason), *counted, neutral.Ended()]


def read_whole(body: bytes) -> list[Event]:
    """The events of an answer that was not streamed. Raises UpstreamBroken where it is none, or not all of it."""
    return AnswerReader().read_whole(body)


def _arguments(raw: msgspec.Raw) -> str:
    """The JSON text of a call's arguments. Imitators send it as a text, as OpenAI does."""
    if raw == NULL:
        return "{}"
    text = bytes(raw).decode()
    if not text.startswith('"'):
        return text
    inner: str = msgspec.json.decode(text) or "{}"
    return inner if is_object(inner) else text


def _seconds(time: Any) -> int:
    """Unix time of a point in time as RFC 3339 writes it; 0 where it is none."""
    try:
        return max(0, int(datetime.fromisoformat(time).timestamp()))
    except (TypeError, ValueError, OverflowError, OSError):
        return 0
