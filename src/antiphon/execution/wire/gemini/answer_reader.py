"""An answer of Gemini's ``generateContent`` or ``streamGenerateContent``, read into events that belong to no vendor.

Each chunk of a stream is an answer of its
own, whose counts are of all so far; nothing marks the last one but its reasons for the end. Mended here: calls of tools without an
id, or with one that came before, and counts that hold the thoughts already.

``candidatesTokenCount`` leaves thoughts out, and ``promptTokenCount`` what tools of the server's own put into the prompt; here
they are part of the completion and of the prompt, as everywhere else.
"""

from typing import Final

import msgspec
from msgspec.structs import astuple

from antiphon.core.errors import UpstreamBroken
from antiphon.core.types import Usage
from antiphon.execution.wire import chat_answer as neutral
from antiphon.execution.wire import reading
from antiphon.execution.wire.chat_answer import Event
from antiphon.execution.wire.gemini import fields
from antiphon.execution.wire.gemini.candidate_reader import CandidateReader
from antiphon.execution.wire.reading import NULL
from antiphon.execution.wire.said_errors import said
from antiphon.transport import sse

_WHAT: Final = "Gemini's generateContent"


class AnswerReader:
    """Reads the events of one streamed answer."""

    def __init__(self) -> None:
        self._began = False
        self._ended = False
        self._blocked = False
        self._candidates: dict[int, CandidateReader] = {}
        self._usage: fields.Usage | None = None

    def feed(self, raw: bytes) -> list[Event]:
        """What whole server-sent events tell. Raises UpstreamBroken where they are not the JSON of an answer."""
        events: list[Event] = []
        for event in sse.parse(raw):
            if self._ended:
                break
            events += self._read(reading.decode_answer(fields.decode_answer, event.data.encode(), _WHAT))
        return events

    def end(self) -> list[Event]:
        """What is left once the stream is over. Raises UpstreamBroken where it broke off before the answer was complete."""
        if self._ended:
            return []
        if not self._blocked and not (self._candidates and all(one.finished for one in self._candidates.values())):
            raise UpstreamBroken
        return self._end()

    def read_whole(self, body: bytes) -> list[Event]:
        """The events of an answer that was not streamed. Raises UpstreamBroken where it is none."""
        events = self._read(reading.decode_answer(fields.decode_answer, body, _WHAT))
        if not self._ended and not self._candidates and not self._blocked:
            raise UpstreamBroken("the model's server answered without a candidate")
        return [*events, *(() if self._ended else self._end())]

    def _read(self, answer: fields.Answer) -> list[Event]:
        if answer.error is not None:
            self._ended = True
            return [said(answer.error, 502), neutral.Ended()]
        events: list[Event] = []
        if not self._began:
            self._began = True
            events.append(neutral.Began(answer.response_id or "", answer.model_version or ""))
        if answer.prompt_feedback is not None and answer.prompt_feedback.block_reason:
            self._blocked = True
        self._count(answer.usage_metadata)
        for place, candidate in enumerate(answer.candidates or ()):
            index = candidate.index if candidate.index is not None else place
            read = self._candidates.get(index)
            if read is None:
                read = self._candidates[index] = CandidateReader(index)
            events += read.take(candidate)
            if read.failure is not None:
                self._ended = True
                return [*events, read.failure, neutral.Ended()]
        return events

    def _count(self, raw: msgspec.Raw) -> None:
        """Keep what was counted last of each; all counts are of the answer so far."""
        if raw == NULL:
            return
        try:
            usage = fields.decode_usage(raw)
        except msgspec.ValidationError:
            return  # what is no count is not told on
        if usage is not None:
            self._usage = usage if self._usage is None else _merged(self._usage, usage)

    def _end(self) -> list[Event]:
        self._ended = True
        usual = "content_filter" if self._blocked else "stop"
        events = [event for candidate in self._candidates.values() for event in candidate.end(usual)]
        if not self._candidates:
            events.append(neutral.Finished(0, "content_filter"))
        return [*events, *_counted(self._usage), neutral.Ended()]


def read_whole(body: bytes) -> list[Event]:
    """The events of an answer that was not streamed. Raises UpstreamBroken where it is none."""
    return AnswerReader().read_whole(body)


def _merged(before: fields.Usage, last: fields.Usage) -> fields.Usage:
    counts = zip(astuple(before), astuple(last), strict=True)
    return fields.Usage(*(old if new is None else new for old, new in counts))


def _counted(usage: fields.Usage | None) -> list[neutral.Counted]:
    if usage is None:
        return []
    prompt = (usage.prompt_token_count or 0) + (usage.tool_use_prompt_token_count or 0)
    answered, thought = usage.candidates_token_count or 0, usage.thoughts_token_count or 0
    held = answered >= thought and usage.total_token_count == prompt + answered
    completion = answered if held else answered + thought
    counts = Usage(prompt, completion, prompt + completion, usage.cached_content_token_count or 0, thought)
    return [neutral.Counted(counts, 0, _sound(usage.prompt_tokens_details), _sound(usage.candidates_tokens_details))]


def _sound(details: list[fields.OfModality] | None) -> int:
    return sum(one.token_count or 0 for one in details or () if one.modality == "AUDIO")
