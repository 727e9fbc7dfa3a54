"""Writing to disk so that nothing half-written is ever taken for whole, and so that a full disk says what to do."""

import errno
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from antiphon.core.errors import NoSpace, SetupError

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_ELSEWHERE = "name another folder (cache_dir and data_dir in the configuration, ANTIPHON_CACHE_DIR and ANTIPHON_DATA_DIR)"
SPARE = 8 << 20
"""Bytes that must stay free besides what is fetched."""


def free_bytes(path: Path) -> int:
    """Free bytes on the disk that holds the path, or would hold it."""
    while not path.exists():
        path = path.parent
    return shutil.disk_usage(path).free


def require_space(path: Path, needed: int) -> None:
    """Raises NoSpace where fewer than ``needed`` bytes are free for the path."""
    if needed > 0 and free_bytes(path) < needed + SPARE:
        raise no_space(path, needed)


def no_space(path: Path, needed: int | None) -> NoSpace:
    """The error for a full disk: where, how many bytes are needed (None: unknown) and how many are free."""
    wanted = f"{needed} bytes needed, " if needed else ""
    return NoSpace(
        f"not enough disk space for {path}: {wanted}{free_bytes(path)} bytes free",
        remedy=f"free some (antiphon models rm NAME), or {_ELSEWHERE}",
    )


@contextmanager
def disk_errors(path: Path, needed: Callable[[], int | None] = lambda: None) -> Iterator[None]:
    """Turns what the operating system says of a write to ``path`` into NoSpace or SetupError with a remedy."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise no_space(path, needed()) from error
        raise SetupError(
            f"cannot write {error.filename or path}: {error.strerror or error}",
            remedy=f"see that this user may write there, or {_ELSEWHERE}",
        ) from error


def sync_folder(folder: Path) -> None:
    """Makes the names in a folder outlive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file in one step, readable by this user only: whoever reads it, and whenever, sees the old or the new one whole."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with disk_errors(path, lambda: len(data)):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
        sync_folder(path.parent)


@contextmanager
def locked(path: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the lock file ``path``; ``waiting`` is called once if another process holds it.

    The lock belongs to the open file, so that it ends with its owner, however that dies. The file itself stays: removing it would
    let two processes lock two files of the same name.
    """
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
