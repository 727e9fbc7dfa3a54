"""Answers that go on as they came, because the caller speaks Ollama's dialect too: how they begin and end, and what they used."""

import re
from typing import Any, Final

from antiphon.core.errors import UpstreamBroken, UpstreamRefused
from antiphon.core.types import Usage
from antiphon.execution.wire.dialect import Framing, Passing
from antiphon.execution.wire.ollama.fields import Line, decode_counts, decode_line, usage_of
from antiphon.execution.wire.ollama.request_reader import DIALECT
from antiphon.execution.wire.reading import UNREADABLE
from antiphon.execution.wire.said_errors import said
from antiphon.transport import lines

_DONE: Final = re.compile(rb'"done"\s*:\s*true')
FRAMING: Final = Framing(lines.LineSplitter, b"application/x-ndjson", b"\n")


class Watch:
    """Watches a stream of ``/api/chat`` or ``/api/generate``."""

    __slots__ = ("_usage", "begun", "ended", "failure")

    def __init__(self, _hides_usage: bool) -> None:
        self.ended = False
        self.begun = False
        self.failure: UpstreamRefused | None = None
        self._usage: Usage | None = None

    def take(self, raw: bytes) -> bytes:
        """What of whole lines is passed on: all, but for an error and what follows the last line."""
        goes_on = b'"error"' not in raw and _DONE.search(raw) is None
        length = 0
        for line in lines.split(raw):
            if goes_on and self.begun:
                return raw
            told = _told(line)
            if told is not None and told.error:
                self.failure = _failure(told.error, line)
                break
            length += len(line)
            self.begun = self.begun or _has_content(told, line)
            if told is not None and told.done:
                self.ended = True
                self._usage = usage_of(told)
                break
        return raw if length == len(raw) else raw[:length]

    def finish(self) -> bytes:
        """Nothing has to be said behind the last line. Raises UpstreamBroken where it never came."""
        if not self.ended:
            raise UpstreamBroken("the model's server ended its stream without its last line: the answer is cut off")
        return b""

    def usage(self) -> Usage | None:
        """What the last line told."""
        return self._usage


def read_passed(body: bytes) -> tuple[Usage | None, UpstreamRefused | None]:
    """Usage and failure of an answer in one piece, each None where it tells none. Raises one of ``reading.UNREADABLE``."""
    told = decode_counts(body)
    return usage_of(told), _failure(told.error, body) if told.error else None


def _failure(error: Any, body: bytes) -> UpstreamRefused:
    """The error that a server told under a status of success."""
    return UpstreamRefused(said(error, 502).status, body.strip(), dialect=DIALECT)


def _told(line: bytes) -> Line | None:
    """What a line tells, None where it cannot be read: it is passed on all the same."""
    try:
        return decode_line(line)
    except UNREADABLE:
        return None


def _has_content(told: Line | None, line: bytes) -> bool:
    """Whether a reader would see something of it. What cannot be read counts as content, an empty line does not."""
    if told is None:
        return bool(line.strip())
    said = told.message
    return bool(
        told.done or told.response or told.thinking or (said is not None and (said.content or said.thinking or said.tool_calls))
    )


GENERATION: Final = Passing(read_passed, Watch, FRAMING, decode=lambda raw: [_told(line) for line in lines.split(raw)])
"""Chats and generations."""
WHOLE: Final = Passing(read_passed)
"""What is never streamed."""
