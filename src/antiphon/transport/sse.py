"""Server-sent events: cut a byte stream into whole events, read them, write them.

The format is that of the WHATWG HTML standard, section 9.2: lines end in LF, CRLF or CR, an empty line ends an event.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from antiphon.core.errors import UpstreamBroken

MAX_EVENT = 32 << 20
"""Bytes that one event may have; more is refused, so that a stream without line ends cannot fill the memory."""

_BOUNDARY = re.compile(rb"\n\n|\n\r\n?|\r\r\n?|\r\n\n|\r\n\r\n?")  # two ends of lines, CRLF being one


class Event(NamedTuple):
    """One event. ``data`` joins the event's data lines with LF; an event of comments alone has none."""

    data: str = ""
    event: str = ""
    id: str = ""


class EventSplitter:
    """Cuts what comes off the network into whole events, however it was cut before."""

    __slots__ = ("_rest",)

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, data: bytes) -> bytes:
        """The longest run of whole events at hand, byte for byte, or ``b""``; what is left waits for more.

        Raises UpstreamBroken when one event grows beyond ``MAX_EVENT``.
        """
        if self._rest:
            return self._feed_behind_rest(data)
        if data.endswith(b"\n\n"):
            return data
        end = _last_boundary(data, 0)
        if end < len(data):
            self._keep(data[end:] if end else data)
        return data[:end]

    def _feed_behind_rest(self, data: bytes) -> bytes:
        # Only the seam and the new bytes are searched, so that one huge event in small pieces costs linear time.
        tail = bytes(self._rest[-3:])
        end = _last_boundary(tail + data, 0) - len(tail)
        if end <= 0:
            self._keep(data)
            return b""
        whole = b"".join((self._rest, data[:end]))
        self._rest.clear()
        if end < len(data):
            self._keep(data[end:])
        return whole

    def _keep(self, data: bytes) -> None:
        self._rest += data
        if len(self._rest) > MAX_EVENT:
            raise UpstreamBroken(f"the model's server sent an event of more than {MAX_EVENT >> 20} MiB")

    def rest(self) -> bytes:
        """What is left once the stream has ended: an event whose empty line never came, mostly nothing."""
        rest = bytes(self._rest)
        self._rest.clear()
        return rest


def _last_boundary(data: bytes, start: int) -> int:
    """Index behind the last empty line of ``data``, 0 where there is none."""
    end = data.rfind(b"\n\n", start) + 2
    end = 0 if end == 1 else end
    if b"\r" in data:
        for match in _BOUNDARY.finditer(data, max(0, end - 4)):
            # A lone "\r\r" at the very end may be the first half of "\r\r\n"; the reader does not mind the LF that follows.
            end = max(end, match.end())
    return end


def split(raw: bytes) -> Iterator[bytes]:
    """The single events of ``raw`` one by one, byte for byte."""
    start = 0
    for end in _ends(raw):
        yield raw[start:end]
        start = end
    if start < len(raw):
        yield raw[start:]


def _ends(raw: bytes) -> Iterator[int]:
    """Index behind each empty line."""
    if b"\r" in raw:
        for boundary in _BOUNDARY.finditer(raw):
            yield boundary.end()
        return
    end = raw.find(b"\n\n")
    while end >= 0:
        yield end + 2
        end = raw.find(b"\n\n", end + 2)


def parse(raw: bytes) -> list[Event]:
    """The events in ``raw``, which holds whole events. Comments are left out; invalid UTF-8 becomes U+FFFD."""
    events: list[Event] = []
    data: list[str] = []
    name = identity = ""
    text = raw.decode("utf-8", "replace")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    for line in text.split("\n"):
        if not line:
            if data:
                events.append(Event("\n".join(data), name, identity))
            data, name, identity = [], "", ""
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            data.append(value)
        elif field == "event":
            name = value
        elif field == "id":
            identity = value
    if data:
        events.append(Event("\n".join(data), name, identity))
    return events


def encode(data: bytes) -> bytes:
    """One event that carries ``data``, which holds no line ends (JSON does not)."""
    return b"data: " + data + b"\n\n"
