"""An answer of OpenAI's chat endpoint, read into events that belong to no vendor.

Its imitators differ, and what they leave out or do twice is mended here: usage early, twice, in a vendor's own field or never; no
reason for the end. ``choice_reader`` tells what is mended inside of a choice.
"""

from typing import Final

import msgspec

from antiphon.core.errors import UpstreamBroken
from antiphon.execution.wire import chat_answer as neutral
from antiphon.execution.wire import reading
from antiphon.execution.wire.chat_answer import Event
from antiphon.execution.wire.openai import answer_fields, passthrough
from antiphon.execution.wire.openai.choice_reader import ChoiceReader
from antiphon.execution.wire.reading import NULL
from antiphon.execution.wire.said_errors import said
from antiphon.transport import sse

_WHAT: Final = "OpenAI's chat endpoint"


class AnswerReader:
    """Reads the events of one streamed answer."""

    def __init__(self) -> None:
        self._began = False
        self._ended = False
        self._choices: dict[int, ChoiceReader] = {}
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
                events += self._read(reading.decode_answer(answer_fields.decode_answer, event.data.encode(), _WHAT))
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
        answer = reading.decode_answer(answer_fields.decode_answer, body, _WHAT)
        if answer.error is None and not answer.choices:
            raise UpstreamBroken("the model's server answered without a choice")
        return [*self._read(answer), *(() if self._ended else self._end())]

    def _read(self, answer: answer_fields.Answer) -> list[Event]:
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
                read = self._choices[index] = ChoiceReader(index)
            events += read.take(choice)
            self._count(choice.usage)
        self._count(answer.x_groq.usage if answer.x_groq is not None else NULL)
        self._count(answer.usage)
        return events

    def _count(self, raw: msgspec.Raw) -> None:
        if raw == NULL:
            return
        try:
            fields = answer_fields.decode_usage(raw)
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
