"""What the coordinator must not forget: rows in an append-only file, each with its checksum, the last row of a kind counts.

What was written survives the death of the process at once; a thread brings it to the disk (``fsync``) soon after, so that it
survives that of the machine. The file is rewritten, by the same thread, once most of its rows are outdated.
"""

import asyncio
import contextlib
import fcntl
import logging
import os
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from antiphon.core.errors import SetupError
from antiphon.dispatch.coordinator.ledger.rows import EpochRow, PastRow, Row, SessionRow, ShareRow

SYNC_EVERY: Final = 0.05
"""Seconds between two times that the file is brought to the disk, at least."""

COMPACT_FROM: Final = 1 << 20
"""Bytes below which the file is never rewritten."""

COMPACT_GROWTH: Final = 4
"""It is rewritten once it is so many times larger than after the last time."""

_RECORD: Final = struct.Struct("<II")
_MAGIC: Final = b"antiphon ledger 1\n"
_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(list[ShareRow | PastRow | SessionRow | EpochRow]).decode

log = logging.getLogger(__name__)


class Journal:
    """The file at ``path``, which one process at a time may have open."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._lock = _lock(path)
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as error:
            os.close(self._lock)
            raise SetupError(
                f"the ledger's journal {path} cannot be opened: {error.strerror}", remedy="make data_dir writable"
            ) from error
        data = path.read_bytes()
        rows, self._size = _read(data)
        if self._size < len(data):
            _cut(path, data, self._size)
            os.ftruncate(self._fd, self._size)
        self.rows = rows
        """What was kept, the last row of each kind."""
        self._compact_at = max(COMPACT_FROM, COMPACT_GROWTH * self._size)
        self._dirty = False
        self._task: asyncio.Task[None] | None = None
        if not self._size:
            self._write(_MAGIC)

    def append(self, rows: Sequence[Row]) -> bool:
        """Write rows. False where that is not possible now; then nothing of them was written."""
        body = _encode(rows)
        head = b"" if self._size else _MAGIC  # there was no room for it when the file was made
        kept = self._write(head + _RECORD.pack(len(body), zlib.crc32(body)) + body)
        if kept:
            self._dirty = True
            self._work()
        return kept

    async def close(self) -> None:
        """Bring everything to the disk and let go of the file."""
        if self._task is not None:
            await self._task
        with contextlib.suppress(OSError):
            await asyncio.to_thread(os.fsync, self._fd)
        os.close(self._fd)
        os.close(self._lock)

    @property
    def size(self) -> int:
        """Bytes."""
        return self._size

    def _write(self, data: bytes) -> bool:
        try:
            written = os.write(self._fd, data)
        except OSError as error:
            log.debug("%s: %s", self._path, error)
            written = -1
        if written == len(data):
            self._size += written
            return True
        with contextlib.suppress(OSError):
            os.ftruncate(self._fd, self._size)  # half a record would hide all that follow
        return False

    def _work(self) -> None:
        if self._task is None or self._task.done():
            with contextlib.suppress(RuntimeError):  # no loop runs: a test, or the last words of a process
                self._task = asyncio.get_running_loop().create_task(self._sync(), name="journal")

    async def _sync(self) -> None:
        while self._dirty:
            self._dirty = False
            try:
                if self._size >= self._compact_at:
                    await self._compact()
                else:
                    await asyncio.to_thread(os.fsync, self._fd)
            except OSError as error:
                log.warning("the ledger's journal %s: %s", self._path, error.strerror)
            await asyncio.sleep(SYNC_EVERY)

    async def _compact(self) -> None:
        """Put a file with the last rows alone in the place of this one. What is written meanwhile is taken over."""
        fresh, size = self._path.with_suffix(".new"), self._size
        self._compact_at = COMPACT_GROWTH * size  # unless this works, not again before it has grown
        fd = await asyncio.to_thread(_rewrite, self._path, fresh, size)
        tail = os.pread(self._fd, self._size - size, size)
        try:
            if os.write(fd, tail) != len(tail):
                raise OSError(28, "No space left on device")
            os.replace(fresh, self._path)
        except OSError:
            os.close(fd)
            raise
        old, self._fd = self._fd, fd
        os.close(old)
        self._size = os.fstat(fd).st_size
        self._compact_at = max(COMPACT_FROM, COMPACT_GROWTH * self._size)
        await asyncio.to_thread(os.fsync, fd)


def _lock(path: Path) -> int:
    fd = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(fd)
        raise SetupError(
            f"another server keeps its ledger in {path.parent}", remedy="stop it, or give this one another data_dir"
        ) from error
    return fd


def _read(data: bytes) -> tuple[list[Row], int]:
    """The last row of each kind, and up to where the file is whole."""
    if not data.startswith(_MAGIC):
        return [], 0
    latest: dict[tuple[str, ...], Row] = {}
    position = len(_MAGIC)
    while position + _RECORD.size <= len(data):
        length, checksum = _RECORD.unpack_from(data, position)
        body = data[position + _RECORD.size : position + _RECORD.size + length]
        if len(body) < length or zlib.crc32(body) != checksum:
            break
        try:
            rows = _decode(body)
        except msgspec.MsgspecError:
            break
        for row in rows:
            latest[_key(row)] = row
        position += _RECORD.size + length
    return [row for row in latest.values() if not _says_nothing(row)], position


def _key(row: Row) -> tuple[str, ...]:
    if isinstance(row, ShareRow):
        return ("share", row.session, row.account, row.window)
    if isinstance(row, PastRow):
        return ("past", row.account, row.window)
    if isinstance(row, SessionRow):
        return ("session", row.session)
    return ("epoch",)


def _says_nothing(row: Row) -> bool:
    if isinstance(row, ShareRow):
        return row.slots is None
    if isinstance(row, PastRow):
        return not row.settled
    return isinstance(row, SessionRow) and row.state == "gone"


def _cut(path: Path, data: bytes, size: int) -> None:
    """Say that the end of the file is no use, and keep it aside for whoever wants to look."""
    aside = path.with_suffix(".cut")
    log.warning(
        "the ledger's journal %s is not whole: its last %d bytes, from %d on, are put aside in %s",
        path,
        len(data) - size,
        size,
        aside,
    )
    with contextlib.suppress(OSError), open(aside, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(data[size:])


def _rewrite(path: Path, fresh: Path, size: int) -> int:
    """Write the last rows among the first ``size`` bytes of ``path`` to a new file; its descriptor."""
    with path.open("rb") as file:
        rows, _ = _read(file.read(size))
    fd = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
    try:
        with open(fd, "wb", closefd=False) as file:
            file.write(_MAGIC)
            for start in range(0, len(rows), 1000):
                body = _encode(rows[start : start + 1000])
                file.write(_RECORD.pack(len(body), zlib.crc32(body)) + body)
        os.fsync(fd)
    except OSError:
        os.close(fd)
        raise
    return fd
