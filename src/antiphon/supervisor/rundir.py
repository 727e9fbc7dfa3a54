"""The folder of the processes' sockets and of the state file, as long as the server lives."""

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

from antiphon.bootstrap.run_folders import LOCK, PREFIX
from antiphon.core.errors import SetupError


class RunDir:
    """A new folder that only this user may read; ``close`` removes it.

    Its name is short, because the path of a Unix socket must be. While its owner lives a lock is held in it: folders whose owners
    were killed are thereby known, and removed by the next server.
    """

    def __init__(self) -> None:
        _remove_abandoned()
        try:
            self.path = tempfile.mkdtemp(prefix=PREFIX)
        except OSError as error:
            raise SetupError(
                f"no folder can be made in {tempfile.gettempdir()}: {error.strerror}", remedy="free some space, or set TMPDIR"
            ) from error
        lock = Path(self.path) / LOCK
        self._lock = os.open(lock.with_suffix(".new"), os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        os.replace(lock.with_suffix(".new"), lock)  # seen by others only once it is held

    def close(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def _remove_abandoned() -> None:
    for lock in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/{LOCK}"):
        with contextlib.suppress(OSError):  # another user's, or held
            if lock.stat().st_uid == os.getuid():
                _remove_unless_held(lock)


def _remove_unless_held(lock: Path) -> None:
    fd = os.open(lock, os.O_RDWR)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(lock.parent, ignore_errors=True)
    finally:
        os.close(fd)
