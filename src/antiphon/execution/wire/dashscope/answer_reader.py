"""An answer of DashScope's generation endpoints, read into events that belong to no vendor.

Shapes after Alibaba's documentation, "DashScope API reference" of Model Studio, and its Python SDK: a choice is worded as OpenAI's,
but each event holds a ``message``, says ``"null"`` in words while there is no reason for the end, and tells all that was used up to
it. Errors are ``{"code", "message", "request_id"}`` in an event named ``error``, whose status stands in a comment.
"""

import re
from typing import Final

import msgspec

from antiphon.core.errors import UpstreamBroken
from antiphon.core.types import Usage
from antiphon.execution.wire import chat_answer as neutral
from antiphon.execution.wire import reading
from antiphon.execution.wire.chat_answer import Event
from antiphon.execution.wire.dashscope import fields
from antiphon.execution.wire.dashscope.errors import failed
from antiphon.execution.wire.openai.answer_fields import ChoicePiece, Said
from antiphon.execution.wire.openai.choice_reader import ChoiceReader
from antiphon.transport import sse

_WHAT: Final = "DashScope"
_STATUS: Final = re.compile(rb"(?m)^:HTTP_STATUS/(\d{3})\b")


class AnswerReader:
    """Reads the events of one streamed answer, in which each event holds what is new in it."""

    def __init__(self) -> None:
        self._began = False
        self._ended = False
        self._choices: dict[int, ChoiceReader] = {}
        self._usage: fields.Usage | None = None

    def feed(self, raw: bytes) -> list[Event]:
        """What whole server-sent events tell. Raises UpstreamBroken where they are not the JSON of an answer."""
        events: list[Event] = []
        for event in sse.parse(raw):
            if self._ended:
                break
            answer = reading.decode_answer(fields.decode_answer, event.data.encode(), _WHAT)
            if event.event == "error" or (answer.code and answer.output is None):
                events += self._fail(answer, _status_in(raw))
            else:
                events += self._read(answer)
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
        answer = reading.decode_answer(fields.decode_answer, body, _WHAT)
        if answer.code and answer.output is None:
            return self._fail(answer, None)
        events = self._read(answer)
        if not self._choices:
            raise UpstreamBroken("the model's server answered without a choice")
        return [*events, *self._end()]

    def _read(self, answer: fields.Answer) -> list[Event]:
        events: list[Event] = []
        if not self._began:
            self._began = True
            events.append(neutral.Began(answer.request_id or ""))
        for place, choice in enumerate(_choices(answer.output)):
            index = choice.index if choice.index is not None else place
            read = self._choices.get(index)
            if read is None:
                read = self._choices[index] = ChoiceReader(index)
            events += read.take(choice)
        self._usage = _usage_in(answer.usage) or self._usage
        return events

    def _fail(self, answer: fields.Answer, status: int | None) -> list[Event]:
        self._ended = True
        began = [] if self._began else [neutral.Began(answer.request_id or "")]
        return [*began, failed(answer.code, answer.message, status), neutral.Ended()]

    def _end(self) -> list[Event]:
        self._ended = True
        events = [event for choice in self._choices.values() for event in choice.end()]
        return [*events, *([_counted(self._usage)] if self._usage is not None else []), neutral.Ended()]


def read_whole(body: bytes) -> list[Event]:
    """The events of an answer that was not streamed. Raises UpstreamBroken where it is none."""
    return AnswerReader().read_whole(body)


def _choices(output: fields.Output | None) -> list[ChoicePiece]:
    """The choices; models that know no messages give a text alone."""
    if output is None:
        return []
    if output.choices is None and (output.text is not None or output.finish_reason):
        return [ChoicePiece(0, message=Said(output.text), finish_reason=output.finish_reason)]
    return output.choices or []


def _usage_in(raw: msgspec.Raw) -> fields.Usage | None:
    try:
        return fields.decode_usage(raw)
    except msgspec.ValidationError:
        return None  # what is no count is not told on


def _counted(usage: fields.Usage) -> neutral.Counted:
    prompt, completion = usage.input_tokens or 0, usage.output_tokens or 0
    details, thought = usage.prompt_tokens_details or fields.PromptDetails(), usage.output_tokens_details or fields.OutputDetails()
    total = usage.total_tokens or prompt + completion
    counts = Usage(prompt, completion, total, details.cached_tokens or 0, thought.reasoning_tokens or 0)
    return neutral.Counted(counts, details.cache_creation_input_tokens or 0)


def _status_in(raw: bytes) -> int | None:
    """The status that the last event of a frame gives in its comment."""
    told = _STATUS.findall(raw)
    status = int(told[-1]) if told else 0
    return status if 400 <= status < 600 else None
