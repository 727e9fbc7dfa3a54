"""The binary frames that AWS streams events in (content type ``application/vnd.amazon.eventstream``).

A frame is its whole length and that of its headers (four bytes each, big-endian), a checksum of both, the headers, a payload of
JSON and a checksum of it all. The library of AWS reads the headers, once for all frames of a kind: they differ in their payload.
"""

import struct
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple
from zlib import crc32

from botocore.eventstream import EventStreamHeaderParser, ParserError

from antiphon.core.errors import UpstreamBroken

CONTENT_TYPE: Final = b"application/vnd.amazon.eventstream"
_MAX_HEADERS: Final = 128 << 10
MAX_FRAME: Final = (24 << 20) + _MAX_HEADERS + 16
"""Bytes that a frame may have: a payload of 24 MiB, headers of 128 KiB, and what surrounds them."""
_MIN_FRAME: Final = 16
_LENGTH: Final = 4
_PRELUDE: Final = struct.Struct("!III")
"""What a frame begins with: both lengths and the checksum of the two."""
_CHECKSUM: Final = 4
_KINDS: Final = 32
"""Different headers whose meaning is remembered; a stream has six."""


class Message(NamedTuple):
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
        if self._rest:
            self._rest += chunk
            if len(self._rest) < self._wanted:
                return b""
            chunk, self._rest = bytes(self._rest), bytearray()
        end, self._wanted = _last_end(chunk)
        self._rest += chunk[end:]
        return chunk[:end]

    def rest(self) -> bytes:
        """What is left once the stream has ended: a frame that was cut off, mostly nothing."""
        rest = bytes(self._rest)
        self._rest, self._wanted = bytearray(), _LENGTH
        return rest


def messages(raw: bytes) -> Iterator[Message]:
    """What whole frames say. Raises UpstreamBroken for a frame that is damaged."""
    at = 0
    while at < len(raw):
        end = at + _length_at(raw, at)
        if end > len(raw):
            raise UpstreamBroken("the model's server sent a frame that is cut off")
        yield _message(raw[at:end])
        at = end


def _message(frame: bytes) -> Message:
    """What one frame says."""
    _, of_headers, checksum = _PRELUDE.unpack_from(frame)
    begin, end = _PRELUDE.size + of_headers, len(frame) - _CHECKSUM
    if checksum != crc32(frame[: _PRELUDE.size - _CHECKSUM]) or int.from_bytes(frame[end:]) != crc32(frame[:end]):
        raise _damaged("its checksum is that of another")
    if begin > end or of_headers > _MAX_HEADERS:
        raise _damaged(f"its headers would be {of_headers} bytes")
    kind, name, words = _told(frame[_PRELUDE.size : begin])
    return Message(kind, name, frame[begin:end] or words)


@lru_cache(_KINDS)
def _told(headers: bytes) -> tuple[str, str, bytes]:
    """The kind and name that the headers of a frame give it, and the words of an error. Raises UpstreamBroken for what are none."""
    try:
        told = EventStreamHeaderParser().parse(headers)
    except (ParserError, struct.error, KeyError, UnicodeDecodeError) as error:
        raise _damaged(str(error)) from error
    kind = str(told.get(":message-type", "event"))
    name = told.get(f":{kind}-type") or told.get(":error-code") or ""
    return kind, str(name), str(told.get(":error-message", "")).encode()


def _damaged(how: str) -> UpstreamBroken:
    return UpstreamBroken(f"the model's server sent a damaged frame: {how}")


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
