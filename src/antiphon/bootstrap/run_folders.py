"""The run folders on this machine, one a server: where they are, and whether their server lives."""

import contextlib
import fcntl
import os
import tempfile
from pathlib import Path

import msgspec

from antiphon.bootstrap.state import read_state
from antiphon.core.errors import InternalError
from antiphon.core.processes import ServerState

PREFIX = "antiphon-"
LOCK = "lock"
"""File in a run folder that its server holds a lock on while it lives."""


class RunFolder(msgspec.Struct, frozen=True):
    """A run folder of this user."""

    path: Path
    alive: bool
    """Its server lives. What a killed one left behind is removed by the next server."""
    state: ServerState | None
    """What the server last wrote; None before it has written anything."""


def run_folders() -> tuple[RunFolder, ...]:
    """The run folders of this user. Nothing is changed."""
    found = []
    for lock in sorted(Path(tempfile.gettempdir()).glob(f"{PREFIX}*/{LOCK}")):
        with contextlib.suppress(OSError):  # it goes away at this moment
            if lock.stat().st_uid == os.getuid():
                found.append(RunFolder(lock.parent, _held(lock), _state(lock.parent)))
    return tuple(found)


def server_on(port: int) -> RunFolder | None:
    """The server of this user that lives and has that port."""
    alive = (folder for folder in run_folders() if folder.alive and folder.state)
    return next((folder for folder in alive if folder.state and folder.state.port == port), None)


def _held(lock: Path) -> bool:
    fd = os.open(lock, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def _state(folder: Path) -> ServerState | None:
    try:
        return read_state(str(folder))
    except InternalError:
        return None
