"""The binary frames that AWS streams events in (content type ``application/vnd.amazon.eventstream``).

A frame is its whole length and that of its headers (four bytes each, big-endian), a checksum of both, the headers, a payload of
JSON and a checksum of it all. The library of AWS reads what is inside of a frame; where one ends is found here.
"""

import struct
from collections.abc import Iterator
from typing import Final

import msgspec
from botocore.eventstream import EventStreamBuffer, ParserError

from antiphon.core.errors import UpstreamBroken

CONTENT_TYPE: Final = b"application/vnd.amazon.eventstream"
MAX_FRAME: Final = (24 << 20) + (128 << 10) + 16
"""Bytes that a frame may have: a payload of 24 MiB, headers of 128 KiB, and what surrounds them."""
_MIN_FRAME: Final = 16
_LENGTH: Final = 4


class Message(msgspec.Struct, frozen=True, gc=False):
    """What one frame says."""

    kind: str
    """``event``, ``exception`` or ``error``."""
    name: str
    """Of the event or the error."""
    payload: bytes
    """JSON; of an ``error`` its words."""


class FrameSplitter:
    """Cuts what comes off the network into whole frames, however it was cut before."""

    __slots__ = ("_rest", "_wanted")

    def __init__(self) -> None:
        self._rest = bytearray()
        self._wanted = _LENGTH

    def feed(self, chunk: bytes) -> bytes:
        """The longest run of whole frames at hand; what is left waits for more. Raises UpstreamBroken for an impossible length."""
        self._rest += chunk
        if len(self._rest) < self._wanted:
            return b""
        data = bytes(self._rest)
        end, length = _last_end(data)
        self._rest = bytearray(data[end:])
        self._wanted = length
        return data[:end]

    def rest(self) -> bytes:
        """What is left once the stream has ended: a frame that was cut off, mostly nothing."""
        rest = bytes(self._rest)
        self._rest, self._wanted = bytearray(), _LENGTH
        return rest


def messages(raw: bytes) -> Iterator[Message]:
    """What whole frames say. Raises UpstreamBroken for a frame that is damaged."""
    at = 0
    buffer = EventStreamBuffer()
    while at < len(raw):
        length = _length_at(raw, at)
        buffer.add_data(raw[at : at + length])
        try:
            message = next(buffer, None)
        except (ParserError, struct.error, KeyError, UnicodeDecodeError) as error:
            raise UpstreamBroken(f"the model's server sent a damaged frame: {error}") from error
        if message is None:
            raise UpstreamBroken("the model's server sent a frame that is cut off")
        headers = message.headers
        kind = str(headers.get(":message-type", "event"))
        name = headers.get(f":{kind}-type") or headers.get(":error-code") or ""
        payload = message.payload or str(headers.get(":error-message", "")).encode()
        yield Message(kind, str(name), payload)
        at += length


def _last_end(data: bytes) -> tuple[int, int]:
    """Index behind the last whole frame, and how many bytes must be there until the next one can be whole."""
    at = 0
    while at + _LENGTH <= len(data):
        length = _length_at(data, at)
        if at + length > len(data):
            return at, length
        at += length
    return at, _LENGTH


def _length_at(data: bytes, at: int) -> int:
    length = int.from_bytes(data[at : at + _LENGTH])
    if not _MIN_FRAME <= length <= MAX_FRAME:
        raise UpstreamBroken(f"the model's server sent what is no frame of an event stream: its length would be {length} bytes")
    return length
