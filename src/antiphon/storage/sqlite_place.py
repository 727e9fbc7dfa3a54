"""Where a SQLite file lies, with what SQLite keeps beside it: ``-wal`` and ``-shm``. The three belong together.

Who opens the file, moves it or begins it anew holds the lock of its folder, so several processes do these things one after the
other. A file whose rows are being saved is put aside under a name of its own; a link tells which it is until they are saved, so
that another process can go on where the first was killed.
"""

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

BESIDE: Final = ("-wal", "-shm")

_AGAIN: Final = 0.01
"""Seconds between two tries for the lock."""

Identity = tuple[tuple[int, int] | None, ...]


class Place:
    """The place of the file at ``path``. Methods raise OSError."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fresh = Path(f"{path}.new")
        """Where its successor is made."""
        self._link = Path(f"{path}.mending")

    @contextlib.contextmanager
    def locked(self, timeout: float) -> Iterator[None]:
        """Hold the lock of the folder, which is made. Raises TimeoutError where another process has it for ``timeout`` seconds."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            _lock(folder, timeout)
            yield
        finally:
            os.close(folder)

    def identity(self) -> Identity:
        """Which files lie there now; None in place of one that does not. It tells files apart while they are held open."""
        return tuple(_inode(f"{self.path}{end}") for end in ("", *BESIDE))

    def room(self) -> int | None:
        """Bytes that are free on the disk there; None where there is nothing to ask."""
        try:
            disk = os.statvfs(self.path.parent)
        except OSError:
            return None
        return disk.f_bavail * disk.f_frsize

    def clear(self) -> None:
        """Have nothing there."""
        for end in ("", *BESIDE):
            Path(f"{self.path}{end}").unlink(missing_ok=True)

    def clear_fresh(self) -> None:
        """Have nothing where its successor is made."""
        for end in ("", "-journal", "-mended", "-mended-wal", "-mended-shm"):
            Path(f"{self.fresh}{end}").unlink(missing_ok=True)

    def put_aside(self) -> None:
        """Move the file, with what is beside it, to a name that nothing has; :meth:`aside` tells which until :meth:`settled`."""
        number = 1
        while any(os.path.lexists(f"{self.path}.damaged-{number}{end}") for end in ("", *BESIDE)):
            number += 1
        aside = Path(f"{self.path}.damaged-{number}")
        self._link.unlink(missing_ok=True)
        self._link.symlink_to(aside.name)  # a link needs no room on a full disk, and is there as a whole or not at all
        self.path.rename(aside)
        self._move_beside(aside)

    def aside(self) -> Path | None:
        """The file that was put aside and whose rows are not saved yet."""
        try:
            aside = self.path.with_name(os.readlink(self._link))
        except FileNotFoundError:
            return None
        if self.path.exists() or not aside.exists():
            self.settled()
            return None
        self._move_beside(aside)
        return aside

    def settled(self) -> None:
        """What was put aside is of no use any more."""
        self._link.unlink(missing_ok=True)

    def _move_beside(self, aside: Path) -> None:
        wal, shm = (Path(f"{self.path}{end}") for end in BESIDE)
        if wal.exists():
            wal.rename(f"{aside}-wal")
        if shm.exists():
            if Path(f"{aside}-wal").exists():
                shm.rename(f"{aside}-shm")
            else:
                shm.unlink()


def _lock(folder: int, timeout: float) -> None:
    deadline = time.monotonic() + timeout
    while True:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise TimeoutError(errno.ETIMEDOUT, "another process is opening or mending it") from None
            time.sleep(_AGAIN)
        else:
            return


def _inode(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
