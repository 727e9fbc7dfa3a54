"""Keys that count no longer: a file in ``data_dir`` to which lines are only added, and what a process knows of it.

One line of JSON each, with the SHA-256 of the key. A later line about the same key goes before an earlier one, so what was revoked
can be restored. The file outlives restarts, and is obeyed whatever the configuration says.
"""

import errno
import fcntl
import hashlib
import logging
import os
import re
import stat
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from antiphon.bootstrap import ballast
from antiphon.bootstrap.owned_files import Owner
from antiphon.bootstrap.snapshots.file import sync_folder
from antiphon.core.errors import NoSpace, SetupError

_FULL = (errno.ENOSPC, errno.EDQUOT)
_DIGEST = re.compile(rb"(?<![0-9a-fA-F])[0-9a-fA-F]{64}(?![0-9a-fA-F])")

log = logging.getLogger(__name__)


class Revocation(msgspec.Struct, frozen=True):
    """A line of the file."""

    digest: str
    """SHA-256 of the key, in hexadecimal digits."""
    name: str = ""
    """Whose key it was."""
    revoked: bool = True
    """False restores it."""
    at: str = ""
    """UTC, ISO 8601."""


def revocations_file(data_dir: str) -> Path:
    """Where the revocations of a server lie."""
    return Path(data_dir) / "keys" / "revocations.jsonl"


def append(path: Path, revocations: Sequence[Revocation]) -> int:
    """Add lines, on the disk when this returns; gives back the length of the file, bytes. Raises NoSpace or SetupError.

    Whoever the data belong to can read them, whoever writes them. On a full disk they take the place of the ballast.
    """
    at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    data = b"".join(msgspec.json.encode(msgspec.structs.replace(row, at=at)) + b"\n" for row in revocations)
    try:
        owner = Owner.of(path.parent.parent)
        owner.check(path)
        length = _write_in_place_of_ballast(path, owner, data)
    except OSError as error:
        kind, remedy = (NoSpace, "free some space there") if error.errno in _FULL else (SetupError, "mend its rights")
        if isinstance(error, PermissionError):
            remedy = "run the command as the user of the server, with sudo -u USER before it, or mend its rights"
        raise kind(f"nothing is changed: {path} cannot be written: {error.strerror}", remedy=f"{remedy}, and try again") from error
    ballast.fill(path)
    return length


def _write_in_place_of_ballast(path: Path, owner: Owner, data: bytes) -> int:
    while True:
        try:
            return _write(path, owner, data)
        except OSError as error:
            if error.errno not in _FULL or not ballast.give_up_half(path):
                raise


def _write(path: Path, owner: Owner, data: bytes) -> int:
    fd = owner.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK)
    try:
        _check_kind(fd)
        fcntl.flock(fd, fcntl.LOCK_EX)
        length = _append(fd, data)
    finally:
        os.close(fd)
    sync_folder(path.parent)
    return length


class Revocations:
    """What a process knows of the file. ``digests`` are those that are revoked, always in the same set."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.digests: set[bytes] = set()
        self.owners: dict[bytes, str] = {}
        """Whose keys they are, as far as the file says."""
        self.position = 0
        """Bytes of the file that are known."""
        self._lines = 0
        self._known = hashlib.sha256()
        self._seen: tuple[int, int, int] | None = None

    def refresh(self) -> bool:
        """Read what is new; whether anything is. One system call where nothing is. Raises SetupError where it cannot be read."""
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            known = self._seen is not None
            self._reset()
            return known
        except OSError as error:
            raise self._unreadable(error) from error
        now = (found.st_ino, found.st_size, found.st_mtime_ns)
        if now == self._seen:
            return False
        try:
            data = memoryview(read_bytes(self.path)[: found.st_size])
        except OSError as error:
            raise self._unreadable(error) from error
        if hashlib.sha256(data[: self.position]).digest() != self._known.digest():
            self._reset()  # another file has taken its place: one from a backup, say
        fresh = bytes(data[self.position :])
        self._take(fresh[: fresh.rfind(b"\n") + 1])
        self._seen = now
        return True

    def _take(self, data: bytes) -> None:
        for line in data.split(b"\n")[:-1]:
            self._lines += 1
            try:
                row = msgspec.json.decode(line, type=Revocation)
                digest = bytes.fromhex(row.digest)
            except (msgspec.MsgspecError, ValueError):
                self._take_damaged(line)
                continue
            if row.revoked:
                self.digests.add(digest)
                self.owners[digest] = row.name or self.owners.get(digest, "")
            else:
                self.digests.discard(digest)
                self.owners.pop(digest, None)
        self.position += len(data)
        self._known.update(data)

    def _take_damaged(self, line: bytes) -> None:
        """Whoever is still named in a line that cannot be read stays out: a key too few is found, one too many is not."""
        if not line.strip():
            return
        found = [bytes.fromhex(digest.decode()) for digest in _DIGEST.findall(line)]
        self.digests.update(found)
        self.owners.update((digest, self.owners.get(digest, "")) for digest in found)
        told = f"the {len(found)} digests in it count as revoked" if found else "it is passed over"
        log.error("%s:%d is damaged: %s; mend the line, or revoke its key once more", self.path, self._lines, told)

    def _reset(self) -> None:
        self.digests.clear()
        self.owners.clear()
        self.position = self._lines = 0
        self._known = hashlib.sha256()
        self._seen = None

    def _unreadable(self, error: OSError) -> SetupError:
        return SetupError(
            f"the revoked keys in {self.path} cannot be read: {error.strerror}", remedy="check the rights of the file"
        )


def read_bytes(path: Path) -> bytes:
    """All of the file. Raises OSError, also where it is none: a pipe or a device could keep its reader for ever."""
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        _check_kind(file.fileno())
        return file.read()


def _check_kind(fd: int) -> None:
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        raise OSError(errno.EINVAL, "it is no ordinary file")


def _append(fd: int, data: bytes) -> int:
    """Add whole lines behind whole lines, or nothing."""
    end = os.fstat(fd).st_size
    if end and os.pread(fd, 1, end - 1) != b"\n":
        data = b"\n" + data  # a writer was killed in the middle of its line
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[os.write(fd, rest) :]
        os.fsync(fd)
    except OSError:
        os.ftruncate(fd, end)
        raise
    return end + len(data)
