"""An answer of OpenAI's chat endpoint, read into events that belong to no vendor.

Its imitators differ, and what they leave out or do twice is mended here: calls of tools without an index, with one index for all,
with a new id in each piece or none at all; usage early, twice or never; no reason for the end; thinking under either of its names.
"""

import secrets
from typing import Any

import msgspec

from antiphon.core.errors import UpstreamBroken
from antiphon.execution.wire import chat_answer as neutral
from antiphon.execution.wire import reading
from antiphon.execution.wire.chat_answer import Event
from antiphon.execution.wire.openai import passthrough
from antiphon.execution.wire.openai.fields import UsageFields
from antiphon.execution.wire.reading import NULL
from antiphon.execution.wire.said_errors import said
from antiphon.execution.wire.wrong_values import is_object
from antiphon.transport import sse

_REASONS = {
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
}
"""All others are ``stop``."""


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: Any = None


class _Call(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Thought(msgspec.Struct):
    thinking: str | None = None
    signature: str | None = None
    data: str | None = None


class _Said(msgspec.Struct):
    content: Any = None
    refusal: str | None = None
    reasoning_content: Any = None
    reasoning: Any = None
    thinking_blocks: list[_Thought] | None = None
    tool_calls: list[_Call] | None = None
    function_call: _Function | None = None


class _Choice(msgspec.Struct):
    index: int | None = None
    delta: _Said | None = None
    message: _Said | None = None
    finish_reason: str | None = None
    stop_reason: Any = None
    logprobs: msgspec.Raw = NULL


class _Answer(msgspec.Struct):
    id: str | None = None
    model: str | None = None
    created: Any = None
    choices: list[_Choice] | None = None
    usage: msgspec.Raw = NULL
    error: Any = None


_decode = msgspec.json.Decoder(_Answer).decode
_decode_usage = msgspec.json.Decoder(UsageFields | None).decode


class AnswerReader:
    """Reads the events of one streamed answer."""

    def __init__(self) -> None:
        self._began = False
        self._ended = False
        self._choices: dict[int, _ReadChoice] = {}
        self._counted: neutral.Counted | None = None

    def feed(self, raw: bytes) -> list[Event]:
        """What whole server-sent events tell. Raises UpstreamBroken where they are not the JSON of an answer."""
        events: list[Event] = []
        for event in sse.parse(raw):
            if self._ended:
                break
            if event.data.strip() == "[DONE]":
                events += self._end()
            else:
                events += self._read(_decoded(event.data.encode()))
        return events

    def end(self) -> list[Event]:
        """What is left once the stream is over. Raises UpstreamBroken where it broke off before the answer was complete."""
        if self._ended:
            return []
        if not self._choices or not all(choice.finished for choice in self._choices.values()):
            raise UpstreamBroken
        return self._end()

    def read_whole(self, body: bytes) -> list[Event]:
        """The events of an answer that was not streamed. Raises UpstreamBroken where it is none."""
        answer = _decoded(body)
        if answer.error is None and not answer.choices:
            raise UpstreamBroken("the model's server answered without a choice")
        return [*self._read(answer), *(() if self._ended else self._end())]

    def _read(self, answer: _Answer) -> list[Event]:
        events: list[Event] = []
        if answer.error is not None:
            self._ended = True
            return [said(answer.error, 502), neutral.Ended()]
        if not self._began:
            self._began = True
            created = answer.created if isinstance(answer.created, int) else 0
            events.append(neutral.Began(answer.id or "", answer.model or "", created))
        for place, choice in enumerate(answer.choices or ()):
            index = choice.index if choice.index is not None else place
            read = self._choices.get(index)
            if read is None:
                read = self._choices[index] = _ReadChoice(index)
            events += read.take(choice)
        if answer.usage != NULL:
            self._count(answer.usage)
        return events

    def _count(self, raw: msgspec.Raw) -> None:
        try:
            fields = _decode_usage(raw)
        except msgspec.ValidationError:
            return  # what is no count is not told on
        usage = passthrough.usage_from(fields)
        if fields is not None and usage is not None:
            details = fields.prompt_tokens_details
            self._counted = neutral.Counted(usage, (details.cache_write_tokens or 0) if details is not None else 0)

    def _end(self) -> list[Event]:
        self._ended = True
        events: list[Event] = [] if self._began else [neutral.Began()]
        for choice in self._choices.values():
            events += choice.end()
        return [*events, *([self._counted] if self._counted is not None else []), neutral.Ended()]


def read_whole(body: bytes) -> list[Event]:
    """The events of an answer that was not streamed. Raises UpstreamBroken where it is none."""
    return AnswerReader().read_whole(body)


def _decoded(data: bytes) -> _Answer:
    try:
        return _decode(data)
    except reading.UNREADABLE as error:
        raise UpstreamBroken(f"the model's server sent what is no answer of OpenAI's chat endpoint: {error}") from error


class _ReadCall:
    """A call of a tool, as far as it was read."""

    __slots__ = ("id", "name", "texts")

    def __init__(self, identity: str) -> None:
        self.id = identity
        self.name = ""
        self.texts: list[str] = []

    @property
    def complete(self) -> bool:
        return is_object("".join(self.texts))


class _ReadChoice:
    """One choice, as far as it was read."""

    def __init__(self, index: int) -> None:
        self.finished = False
        self._index = index
        self._calls: list[_ReadCall] = []
        self._by_index: dict[int, int] = {}
        self._by_id: dict[str, int] = {}
        self._thoughts: list[str] = []
        """What was thought since the last signature."""
        self._reason = ""
        self._stop = ""

    def take(self, choice: _Choice) -> list[Event]:
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
                events += self._call(_Call(0, None, part.function_call))
        if choice.logprobs != NULL:
            events.append(neutral.LogProbs(self._index, choice.logprobs))
        if choice.finish_reason:
            self.finished = True
            self._reason = _REASONS.get(choice.finish_reason, "stop")
            self._stop = choice.stop_reason if isinstance(choice.stop_reason, str) else ""
        return events

    def _thought(self, part: _Said) -> list[Event]:
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
                case {"type": "text", "text": str() as text} if text:
                    events.append(neutral.TextDelta(self._index, text))
                case {"type": "thinking", "thinking": list() as thoughts}:
                    pieces = [thought.get("text") for thought in thoughts if isinstance(thought, dict)]
                    thought = "".join(piece for piece in pieces if isinstance(piece, str))
                    events.append(neutral.ThinkingDelta(self._index, thought))
        return events

    def _call(self, told: _Call) -> list[Event]:
        function = told.function or _Function()
        place = self._place_of(told, function.name or "")
        call = self._calls[place]
        arguments = function.arguments
        text = arguments if isinstance(arguments, str) else "" if arguments is None else reading.encode(arguments).decode()
        began = bool(call.name)
        if function.name and not began:
            call.name = function.name
        if text:
            call.texts.append(text)
        if not call.name:
            return []  # its name is still to come, and nobody can be told of a call without one
        if began:
            return [neutral.ToolArguments(self._index, place, text)] if text else []
        texts = [neutral.ToolArguments(self._index, place, held) for held in call.texts]
        return [neutral.ToolCallBegan(self._index, place, call.id, call.name), *texts]

    def _place_of(self, told: _Call, name: str) -> int:
        """Our number of the call that a piece belongs to; a new one where it begins a call."""
        place = self._by_id.get(told.id) if told.id else None
        if place is not None and name and told.index is not None and told.index not in self._by_index:
            place = None  # one id for several calls
        elif place is None and told.index is not None:
            place = self._by_index.get(told.index)
            if place is not None and name and self._is_another(told, place):
                place = None
        elif place is None and self._calls and not name:
            place = len(self._calls) - 1
        if place is None:
            place = len(self._calls)
            fresh = told.id if told.id and told.id not in self._by_id else f"call_{secrets.token_hex(12)}"
            self._calls.append(_ReadCall(fresh))
        if told.id:
            self._by_id[told.id] = place
        if told.index is not None:
            self._by_index[told.index] = place
        return place

    def _is_another(self, told: _Call, place: int) -> bool:
        """Whether a piece with a name, under an index that is taken, begins another call."""
        call = self._calls[place]
        return bool(call.name) and (bool(told.id) or call.complete)

    def end(self) -> list[Event]:
        reason = self._reason or "stop"
        if reason == "stop" and self._calls:
            reason = "tool_calls"
        if reason == "stop" and self._stop:
            return [neutral.Finished(self._index, "stop_sequence", self._stop)]
        return [neutral.Finished(self._index, reason)]
