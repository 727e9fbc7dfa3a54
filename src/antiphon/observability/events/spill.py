"""A queue of byte strings in one file, for what cannot be delivered now."""

import contextlib
import errno
import fcntl
import logging
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

SUFFIX: Final = ".spill"
_HEAD: Final = struct.Struct(">II")
"""Before each record: its length in bytes, its CRC-32."""

log = logging.getLogger(__name__)


class Spill:
    """First in, first out, at most ``max_bytes`` on disk. Made anew for each life of a process; blocks, so use it from one thread.

    The file exists only while it holds something. A record that was half written when its process or the disk gave up is cut off.
    The file is locked for as long as its process lives, so that others can tell what was left behind (``abandoned``).
    """

    def __init__(self, path: Path, max_bytes: int) -> None:
        self.path = path
        self._max_bytes = max_bytes
        self._fd = -1
        self._written = 0
        self._read = 0

    @classmethod
    def abandoned(cls, folder: Path, max_bytes: int) -> "Iterator[Spill]":
        """The spills in ``folder`` that no living process holds, each opened and locked; those that cannot be opened are left."""
        for path in sorted(folder.glob(f"*{SUFFIX}")):
            spill = cls(path, max_bytes)
            try:
                if spill._open():
                    yield spill
            except OSError as error:
                log.warning("%s is left as it is: %s", path, error.strerror)

    def __bool__(self) -> bool:
        return self._read < self._written

    @property
    def size(self) -> int:
        """Bytes that wait."""
        return self._written - self._read

    def append(self, record: bytes) -> None:
        """Take a record. Raises OSError where the disk or ``max_bytes`` has no room; what is there already stays whole."""
        if self._fd < 0 and not self._open():
            raise OSError(errno.EBUSY, "another process holds the file", str(self.path))
        data = memoryview(_HEAD.pack(len(record), zlib.crc32(record)) + record)
        if self._written + len(data) > self._max_bytes:
            raise OSError(errno.EFBIG, f"there are {self._max_bytes / (1 << 20):g} MiB of them, which is the most", str(self.path))
        end = self._written
        try:
            while data:
                count = os.pwrite(self._fd, data, end)
                data, end = data[count:], end + count
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self._written)
            raise
        self._written = end

    def first(self) -> bytes | None:
        """The oldest record; None where there is none, or none that can be read any more."""
        if not self:
            return None
        head = os.pread(self._fd, _HEAD.size, self._read)
        if len(head) == _HEAD.size:
            length, checksum = _HEAD.unpack(head)
            if self._read + _HEAD.size + length <= self._written:
                record = os.pread(self._fd, length, self._read + _HEAD.size)
                if zlib.crc32(record) == checksum:
                    return record
        log.warning("%s is damaged after %d bytes; the rest of it is lost", self.path, self._read)
        self._read = self._written
        self._shrink()
        return None

    def drop(self, record: bytes) -> None:
        """Forget the oldest record, which ``first`` gave."""
        self._read += _HEAD.size + len(record)
        self._shrink()

    def close(self) -> None:
        """Let go of the file: removed if nothing waits in it, else left for the next process."""
        if self._fd < 0:
            return
        if not self:
            with contextlib.suppress(OSError):
                self.path.unlink()
        os.close(self._fd)
        self._fd = -1

    def _shrink(self) -> None:
        if not self:
            os.ftruncate(self._fd, 0)
            self._read = self._written = 0

    def _open(self) -> bool:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return False
        if not self.path.exists():  # its owner removed it between our open and our lock
            os.close(fd)
            return False
        self._fd = fd
        self._written = os.fstat(fd).st_size
        return True
