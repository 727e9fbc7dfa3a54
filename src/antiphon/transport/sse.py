"""Server-sent events: cut a byte stream into whole events, read them, write them.

The format is that of the WHATWG HTML standard, section 9.2: lines end in LF, CRLF or CR, an empty line ends an event.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from antiphon.core.errors import UpstreamBroken

MAX_EVENT = 32 << 20
"""Bytes that one event may have; more is refused, so that a stream without line ends cannot fill the memory."""

MAX_LINES = 50_000
"""Lines that one event may have, for each costs time."""

_BLANK = re.compile(rb"(?>\r\n|\n|\r){2,}+")  # two ends of lines or more, CRLF being one: one boundary, however many there are
_BLANK_BY_LF = re.compile(rb"\n\n\n*+")  # the same without CR, ten times as fast: it begins with what can be searched for


class Event(NamedTuple):
    """One event. ``data`` joins the event's data lines with LF; an event of comments alone has none."""

    data: str = ""
    event: str = ""
    id: str = ""


class EventSplitter:
    """Cuts what comes off the network into whole events, however it was cut before."""

    __slots__ = ("_lines", "_rest", "_tail")

    def __init__(self) -> None:
        self._rest = bytearray()
        self._tail = b""  # the end of it
        self._lines = 0

    def feed(self, data: bytes) -> bytes:
        """The longest run of whole events at hand, byte for byte, or ``b""``; what is left waits for more.

        Raises UpstreamBroken when one event grows beyond ``MAX_EVENT`` or ``MAX_LINES``.
        """
        if self._rest:
            return self._feed_behind_rest(data)
        if data.endswith(b"\n\n"):
            return data
        end = _last_boundary(data)
        if end < len(data):
            self._keep(data[end:] if end else data)
        return data[:end]

    def _feed_behind_rest(self, data: bytes) -> bytes:
        # Only the seam and the new bytes are searched, so that one huge event in small pieces costs linear time.
        tail = self._tail
        end = _last_boundary(tail + data) - len(tail)
        if end <= 0:
            self._keep(data)
            return b""
        whole = self.rest() + data[:end]
        if end < len(data):
            self._keep(data[end:])
        return whole

    def _keep(self, data: bytes) -> None:
        self._rest += data
        self._tail = data[-3:] if len(data) >= 3 else (self._tail + data)[-3:]
        self._lines += data.count(b"\n") + data.count(b"\r")
        if len(self._rest) > MAX_EVENT:
            raise UpstreamBroken(f"the model's server sent an event of more than {MAX_EVENT >> 20} MiB")
        if self._lines > MAX_LINES:
            raise UpstreamBroken(f"the model's server sent an event of more than {MAX_LINES} lines")

    def rest(self) -> bytes:
        """What is left once the stream has ended: an event whose empty line never came, mostly nothing."""
        rest = bytes(self._rest)
        self._rest = bytearray()
        self._tail = b""
        self._lines = 0
        return rest


def _last_boundary(data: bytes) -> int:
    """Index behind the last empty line of ``data``, 0 where there is none."""
    last = data.rfind(b"\n\n")
    if b"\r" in data:
        # A lone "\r\r" at the very end may be the first half of "\r\r\n"; the reader does not mind the LF that follows.
        last = max(last, data.rfind(b"\n\r"), data.rfind(b"\r\r"))
    if last < 0:
        return 0
    end = last + 2
    return end + 1 if data[end - 1 : end + 1] == b"\r\n" else end


def beginning(raw: bytes, place: int) -> int:
    """Where an event of ``raw`` begins at or before ``place``: behind the last empty line that LF makes, 0 where there is none."""
    boundary = raw.rfind(b"\n\n", 0, place)
    return boundary + 2 if boundary >= 0 else 0


def split(raw: bytes) -> Iterator[bytes]:
    """The single events of ``raw`` one by one, byte for byte, each with the empty lines behind it."""
    start = 0
    for boundary in (_BLANK if b"\r" in raw else _BLANK_BY_LF).finditer(raw):
        yield raw[start : boundary.end()]
        start = boundary.end()
    if start < len(raw):
        yield raw[start:]


def parse(raw: bytes) -> list[Event]:
    """The events in ``raw``, which holds whole events. Comments are left out; invalid UTF-8 becomes U+FFFD."""
    events: list[Event] = []
    text = raw.decode("utf-8", "replace")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    for block in text.split("\n\n"):
        if block.startswith("data: ") and "\n" not in block:
            events.append(Event(block[6:]))
            continue
        if "data" not in block:
            continue
        data: list[str] = []
        name = identity = ""
        for line in block.split("\n"):
            field, _, value = line.partition(":")
            if field == "data":
                data.append(value.removeprefix(" "))
            elif field == "event":
                name = value.removeprefix(" ")
            elif field == "id":
                identity = value.removeprefix(" ")
        if data:
            events.append(Event("\n".join(data), name, identity))
    return events


def encode(data: bytes) -> bytes:
    """One event that carries ``data``, which holds no line ends (JSON does not)."""
    return b"data: " + data + b"\n\n"
