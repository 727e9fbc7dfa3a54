"""The folder of a server's snapshots: the one in force, and the last good one before it."""

import contextlib
import errno
import fcntl
import os
from pathlib import Path

from antiphon.bootstrap.snapshots.file import Snapshot, SnapshotSource, write
from antiphon.core.errors import NoSpace, SetupError

_LOCK = "lock"
_MAX_SERVERS = 1000


class SnapshotFolder:
    """A folder below ``data_dir`` that belongs to one server as long as it lives; several servers may share a ``data_dir``.

    Raises SetupError or NoSpace where it cannot be made.
    """

    def __init__(self, data_dir: str) -> None:
        self.data_dir = data_dir
        try:
            self._path, self._lock = _own(Path(data_dir) / "snapshots")
        except OSError as error:
            kind = NoSpace if error.errno in (errno.ENOSPC, errno.EDQUOT) else SetupError
            raise kind(
                f"no folder for snapshots can be made in {data_dir}: {error.strerror}",
                remedy="free some space there and check its rights, or set data_dir to another folder",
            ) from error
        self._accepted: list[SnapshotSource] = []

    @property
    def next_epoch(self) -> int:
        """Greater than that of every snapshot that was ever written here."""
        return max((_epoch(path) for path in self._path.glob("*.snapshot")), default=0) + 1

    def publish(self, snapshot: Snapshot) -> tuple[SnapshotSource, ...]:
        """Write a snapshot; gives back where workers find it, and behind it the last good one. Raises NoSpace or SetupError."""
        return (write(self._path, snapshot), *self._accepted[-1:])

    def accept(self, sources: tuple[SnapshotSource, ...]) -> None:
        """What was published is in force: keep it and the one before it, and remove all others."""
        self._accepted = [*self._accepted[-1:], sources[0]]
        kept = {source.path for source in self._accepted}
        for path in (*self._path.glob("*.snapshot"), *self._path.glob("*.new")):
            if str(path) not in kept:
                with contextlib.suppress(OSError):
                    path.unlink()

    def close(self) -> None:
        """Leave the folder to the next server."""
        os.close(self._lock)


def _own(parent: Path) -> tuple[Path, int]:
    """The first folder that no living server holds, and the descriptor that holds it."""
    for number in range(_MAX_SERVERS):
        folder = parent / str(number)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            continue
        return folder, fd
    raise BlockingIOError(0, f"{_MAX_SERVERS} servers hold folders there")


def _epoch(path: Path) -> int:
    number = path.name.partition("-")[0]
    return int(number) if number.isdigit() else 0
