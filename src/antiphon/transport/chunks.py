"""What a peer announces of a chunk before it sends it (RFC 9112, section 7.1).

llhttp reads a chunk's size and does not tell it. A size beyond every limit is known to be refused as soon as it is there, without
waiting for the bytes, which may never come.
"""

from typing import Final

_MOST_DIGITS: Final = 20
"""Of a size line that came in several reads, so many bytes are kept: with 16 digits llhttp refuses it itself."""


class Chunks:
    """Finds the size of the chunk that a read began. Ask it after each read that left a body open."""

    __slots__ = ("_began", "_line")

    def __init__(self) -> None:
        self._began = -1
        self._line = b""

    def begin(self, size: int) -> None:
        """A size line is over; ``size`` bytes of the body were there before its chunk."""
        self._began = size

    def end(self) -> None:
        """The chunk is over."""
        self._began = -1

    def announced(self, data: bytes, size: int) -> int:
        """Bytes of the chunk that ``data`` began and did not end, once; 0 where there is none.

        ``size`` bytes of the body are there after this read. What is inside an open chunk ends its read, so the size line stands
        before that.
        """
        began, self._began = self._began, -1
        end = len(data) if began < 0 else len(data) - (size - began)
        start = data.rfind(b"\n", 0, end if began < 0 else end - 1) + 1
        line = data[start : start + _MOST_DIGITS] if start else (self._line + data[:_MOST_DIGITS])[:_MOST_DIGITS]
        if began < 0:
            self._line = line
            return 0
        self._line = b""
        digits = line.partition(b"\r")[0].partition(b";")[0].strip()
        try:
            return int(digits, 16)
        except ValueError:
            return 0
