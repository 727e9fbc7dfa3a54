"""Server-sent events, read as they come (WHATWG HTML standard, section 9.2)."""

import re
from typing import NamedTuple

from antiphon_client.errors import InvalidResponseError

MAX_EVENT = 64 << 20
"""Bytes that one event may have; more is refused, so that a stream without line ends cannot fill the memory."""

_LINE_END = re.compile(rb"\r\n|\n|\r")


class Event(NamedTuple):
    """One event; ``data`` joins its data lines with LF."""

    name: str
    data: bytes


class EventReader:
    """Makes events of what comes off the network, however it was cut."""

    def __init__(self) -> None:
        self._line: list[bytes] = []
        """Pieces of the line that has not ended yet."""
        self._size = 0
        self._after_cr = False
        self._name = ""
        self._data: list[bytes] = []

    def feed(self, piece: bytes) -> list[Event]:
        """The events that are whole now. Raises InvalidResponseError when one grows beyond ``MAX_EVENT``."""
        if not piece:
            return []
        if self._after_cr:  # the LF of a CRLF that was cut in two ends no line of its own
            piece = piece.removeprefix(b"\n")
        self._after_cr = piece.endswith(b"\r")
        self._size += len(piece)
        *ended, rest = _LINE_END.split(piece)
        events = []
        for line in ended:
            if (event := self._take(b"".join((*self._line, line)))) is not None:
                events.append(event)
            self._line.clear()
        if rest:
            self._line.append(rest)
        if self._size > MAX_EVENT:
            raise InvalidResponseError(f"the server sent an event of more than {MAX_EVENT >> 20} MiB")
        return events

    def end(self) -> list[Event]:
        """The event that the stream ended in without the empty line behind it; mostly none."""
        self._after_cr = False
        return self.feed(b"\n\n")

    def _take(self, line: bytes) -> Event | None:
        if not line:
            event = Event(self._name, b"\n".join(self._data)) if self._data else None
            self._name, self._size = "", 0
            self._data.clear()
            return event
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
        elif field == b"event":
            self._name = value.decode("utf-8", "replace")
        return None
