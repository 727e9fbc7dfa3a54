"""Room that is kept for revocations, so that a full disk takes them too: a file beside theirs that is given up piece by piece."""

import contextlib
import os
from pathlib import Path

from antiphon.bootstrap.owned_files import Owner

SIZE = 64 << 10
"""Bytes: some hundred revocations, and a block of any file system."""
_BLOCK = 4 << 10


def beside(revocations: Path) -> Path:
    """Where the ballast of a file of revocations lies."""
    return revocations.with_name("ballast")


def fill(revocations: Path) -> None:
    """Take what is missing of the room, or as much of it as there is.

    Where nothing can be written, nothing is said: it is tried at every start of a server, every reload and every revocation. The
    bytes are random, so that no file system keeps them in fewer.
    """
    with contextlib.suppress(OSError):
        fd = Owner.of(revocations.parent.parent).open(beside(revocations), os.O_RDWR | os.O_APPEND | os.O_CREAT)
        try:
            while (missing := SIZE - os.fstat(fd).st_size) > 0:
                os.write(fd, os.urandom(missing))
            os.fsync(fd)
        finally:
            os.close(fd)


def give_up_half(revocations: Path) -> bool:
    """Free half of the room; False where there was none.

    Half, because other processes want room too on a full disk, and may be faster: then there is a second half.
    """
    try:
        fd = Owner.of(revocations.parent.parent).open(beside(revocations), os.O_RDWR)
    except OSError:
        return False
    try:
        size = os.fstat(fd).st_size
        os.ftruncate(fd, size // 2 if size > _BLOCK else 0)
        os.fsync(fd)
    except OSError:
        return False
    finally:
        os.close(fd)
    return size > 0
