"""A child's end of what connects it with the supervisor: lines, descriptors, and the news that the supervisor has died."""

import contextlib
import os
import socket
import stat
from collections.abc import Callable

LIFELINE = 0
"""Descriptor of the socket that the supervisor keeps open for as long as it lives. A pipe will do where no others come over it."""

EXIT_ORPHANED = 70
"""Exit code of a child whose supervisor has died."""

MAX_DESCRIPTORS = 64
"""Descriptors that come at once; Linux passes at most 253."""

BLOCK = 1 << 20
"""Bytes read at once."""


def read_line() -> tuple[bytes, bytes]:
    """The first line, and what came with it. Ends the process if the supervisor dies meanwhile."""
    data = b""
    while b"\n" not in data:
        more = os.read(LIFELINE, BLOCK)
        if not more:
            os._exit(EXIT_ORPHANED)
        data += more
    line, _, rest = data.partition(b"\n")
    return line, rest


class Lifeline:
    """Listens to the supervisor for as long as it lives, and ends the process with it."""

    def __init__(self, rest: bytes) -> None:
        self._rest = rest
        self._arrived: list[int] = []
        self._socket = socket.socket(fileno=LIFELINE) if stat.S_ISSOCK(os.fstat(LIFELINE).st_mode) else None
        self._hear: Callable[[bytes, list[int]], None] | None = None

    def attach(self, hear: Callable[[bytes, list[int]], None]) -> None:
        """Have each line heard, on the lifeline's thread, together with the descriptors that have come and nobody has taken yet.

        A line takes its own out of the list, from the front: they come ahead of it, on empty lines, and perhaps those of later
        lines are there already. No line comes before the process has told that it takes them.
        """
        self._hear = hear

    def watch(self) -> None:
        """Blocks; does not return."""
        with contextlib.suppress(ConnectionResetError):
            while data := self._read():
                *lines, self._rest = (self._rest + data).split(b"\n")
                for line in filter(None, lines):
                    self._tell(line)
        os._exit(EXIT_ORPHANED)

    def _read(self) -> bytes:
        if self._socket is None:
            return os.read(LIFELINE, BLOCK)
        data, descriptors, _, _ = socket.recv_fds(self._socket, BLOCK, MAX_DESCRIPTORS)
        for fd in descriptors:
            os.set_inheritable(fd, False)
        self._arrived += descriptors
        return data

    def _tell(self, line: bytes) -> None:
        if self._hear is not None:
            self._hear(line, self._arrived)
