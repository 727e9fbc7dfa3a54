"""Lines of JSON (NDJSON): cut a byte stream into whole lines, and write one. Lines end in LF; a CR before it does not count."""

import re
from collections.abc import Iterator

from antiphon.core.errors import UpstreamBroken

MAX_LINE = 32 << 20
"""Bytes that one line may have; more is refused, so that a stream without line ends cannot fill the memory."""

_LINE = re.compile(rb"[^\n]++(?:\n[\r\n]*+)?+|\n[\r\n]*+")


class LineSplitter:
    """Cuts what comes off the network into whole lines, however it was cut before."""

    __slots__ = ("_rest",)

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, data: bytes) -> bytes:
        """The longest run of whole lines at hand, byte for byte, or ``b""``; what is left waits for more.

        Raises UpstreamBroken when one line grows beyond ``MAX_LINE``.
        """
        end = data.rfind(b"\n") + 1
        if not end:
            self._keep(data)
            return b""
        whole = self.rest() + data[:end] if self._rest else data[:end]
        if end < len(data):
            self._keep(data[end:])
        return whole

    def _keep(self, data: bytes) -> None:
        self._rest += data
        if len(self._rest) > MAX_LINE:
            raise UpstreamBroken(f"the model's server sent a line of more than {MAX_LINE >> 20} MiB")

    def rest(self) -> bytes:
        """What is left once the stream has ended: a line whose end never came, mostly nothing."""
        rest = bytes(self._rest)
        self._rest = bytearray()
        return rest


def split(raw: bytes) -> Iterator[bytes]:
    """The single lines of ``raw`` one by one, byte for byte, each with its end and the empty lines behind it."""
    for line in _LINE.finditer(raw):
        yield line[0]


def encode(data: bytes) -> bytes:
    """One line that carries ``data``, which holds no line ends (JSON does not)."""
    return data + b"\n"
