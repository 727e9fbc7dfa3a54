"""Streams of OpenAI's that are made of events with a type: of speech, of what was heard, and of images.

They end with the connection, or with ``[DONE]``; either way something in them must have come to its end (``transcript.text.done``,
``image_generation.completed``).
"""

from typing import Any, Final

import msgspec

from antiphon.core.errors import UpstreamBroken, UpstreamRefused
from antiphon.core.types import Usage
from antiphon.execution.wire.openai.passthrough import told_error
from antiphon.execution.wire.reading import UNREADABLE, Count
from antiphon.transport import sse

LAST: Final = (".done", ".completed")
"""Ends of the types of events that tell that something is complete."""


class _Counts(msgspec.Struct):
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    total_tokens: Count | None = None


class _Told(msgspec.Struct):
    """An event, or an answer in one piece."""

    type: Any = None
    usage: msgspec.Raw = msgspec.Raw(b"null")
    error: Any = None


_decode = msgspec.json.Decoder(_Told).decode
_decode_counts = msgspec.json.Decoder(_Counts | None).decode


def read_answer(body: bytes) -> tuple[Usage | None, UpstreamRefused | None]:
    """Usage and failure of an answer in one piece, each None where it tells none. Raises one of ``reading.UNREADABLE``."""
    told = _decode(body)
    return _usage(told.usage), told_error(told.error, body) if told.error else None


class TypedWatch:
    """Watches such a stream go by."""

    def __init__(self, hides_usage: bool = False) -> None:
        self.ended = False
        self.begun = False
        self.failure: UpstreamRefused | None = None
        self._complete = False
        self._usage: Usage | None = None

    def take(self, raw: bytes) -> bytes:
        """What of whole events is passed on, up to ``[DONE]`` or an error."""
        length = 0
        for event in sse.split(raw):
            for parsed in sse.parse(event):
                self._look(parsed.data)
            if self.failure is not None:
                return raw[:length]
            length += len(event)
            if self.ended:
                return raw[:length]
        return raw

    def finish(self) -> bytes:
        """Nothing more. Raises UpstreamBroken where nothing was complete."""
        if not self._complete:
            raise UpstreamBroken("the model's server ended its stream before its answer was complete: it is cut off")
        return b""

    def usage(self) -> Usage | None:
        """What was used, of everything that came to its end."""
        return self._usage

    def _look(self, data: str) -> None:
        self.begun = True
        if data.strip() == "[DONE]":
            self.ended = self._complete = True
            return
        try:
            told = _decode(data.encode())
        except UNREADABLE:
            return  # it is the caller's to understand
        if told.error or told.type == "error":
            self.failure = told_error(told.error, data.encode())
        elif isinstance(told.type, str) and told.type.endswith(LAST):
            self._complete = True
            self._add(_usage(told.usage))

    def _add(self, usage: Usage | None) -> None:
        before = self._usage
        if usage is None or before is None:
            self._usage = usage or before
            return
        self._usage = Usage(
            before.prompt_tokens + usage.prompt_tokens,
            before.completion_tokens + usage.completion_tokens,
            before.total_tokens + usage.total_tokens,
        )


def _usage(raw: msgspec.Raw) -> Usage | None:
    """What is no count, such as seconds of sound, is not told on."""
    try:
        counts = _decode_counts(raw)
    except UNREADABLE:
        return None
    if counts is None or (counts.input_tokens is None and counts.output_tokens is None):
        return None
    read, written = counts.input_tokens or 0, counts.output_tokens or 0
    return Usage(read, written, counts.total_tokens or read + written)
