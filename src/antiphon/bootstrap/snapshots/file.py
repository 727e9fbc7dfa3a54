"""A snapshot and the file that holds it.

The file is a head and a payload: eight bytes that say what it is, format and epoch, the SHA-256 of the payload, then the payload in
MessagePack. It holds no secret: of the callers' keys only digests, of the providers' nothing.
"""

import contextlib
import errno
import hashlib
import logging
import os
import struct
from collections.abc import Sequence
from pathlib import Path

import msgspec

from antiphon.bootstrap.snapshots.secrets import Secrets, join, split
from antiphon.config import Settings, decode_hook, encode_hook
from antiphon.config.keys_file import key_rows
from antiphon.core.errors import NoSpace, SetupError
from antiphon.gateway.key_table import KeyTable, owner_text

FORMAT = 2
_MAGIC = b"ANTISNAP"
_HEAD = struct.Struct(">8sIQ32s")
"""What it is, format, epoch, SHA-256 of the payload."""

log = logging.getLogger(__name__)


class Snapshot(msgspec.Struct, frozen=True):
    """What a worker goes by."""

    epoch: int
    settings: Settings
    keys: KeyTable
    sha256: str = ""
    """Of the file's payload, in hexadecimal digits; empty where it came from no file."""

    @classmethod
    def of(cls, settings: Settings, epoch: int) -> "Snapshot":
        """The snapshot of some settings, secrets still inside. Raises ConfigError where the file of keys cannot be used."""
        rows = key_rows(settings.server)
        required = bool(rows or settings.server.keys_file)
        return cls(epoch, settings, KeyTable.of(((row.digest, owner_text(row.principal)) for row in rows), required=required))


class SnapshotSource(msgspec.Struct, frozen=True):
    """Where a snapshot lies, and what is not in it."""

    path: str
    epoch: int
    sha256: str
    secrets: Secrets


class _Payload(msgspec.Struct, frozen=True):
    settings: Settings
    keys: KeyTable


def write(folder: Path, snapshot: Snapshot) -> SnapshotSource:
    """Write a snapshot into a folder, in a file of its own that only this user may read.

    It is there wholly, and on the disk, or not at all. Raises NoSpace or SetupError.
    """
    public, secrets = split(snapshot.settings)
    payload = msgspec.msgpack.encode(_Payload(public, snapshot.keys), enc_hook=encode_hook)
    digest = hashlib.sha256(payload)
    path = folder / f"{snapshot.epoch:010}-{digest.hexdigest()[:12]}.snapshot"
    fresh = path.with_suffix(".new")
    try:
        with open(fresh, "wb", opener=_private) as file:
            file.write(_HEAD.pack(_MAGIC, FORMAT, snapshot.epoch, digest.digest()))
            file.write(payload)
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, path)
        sync_folder(folder)
    except OSError as error:
        with contextlib.suppress(OSError):
            fresh.unlink(missing_ok=True)
        raise _unwritten(path, error) from error
    return SnapshotSource(str(path), snapshot.epoch, digest.hexdigest(), secrets)


def read(source: SnapshotSource) -> Snapshot:
    """The snapshot that lies there. Raises SetupError where the file is missing, damaged or another one."""
    try:
        data = Path(source.path).read_bytes()
    except OSError as error:
        raise _unusable(source, f"cannot be read: {error.strerror}") from None
    if len(data) < _HEAD.size:
        raise _unusable(source, "is cut off")
    magic, kind, epoch, digest = _HEAD.unpack_from(data)
    payload = memoryview(data)[_HEAD.size :]
    if magic != _MAGIC or kind != FORMAT:
        raise _unusable(source, "is no snapshot of this version")
    if epoch != source.epoch or digest.hex() != source.sha256:
        raise _unusable(source, "is another one than was written")
    if hashlib.sha256(payload).digest() != digest:
        raise _unusable(source, "is damaged")
    try:
        held = msgspec.msgpack.decode(payload, type=_Payload, dec_hook=decode_hook)
    except msgspec.MsgspecError as error:
        raise _unusable(source, f"cannot be understood ({type(error).__name__})") from None
    return Snapshot(epoch, join(held.settings, source.secrets), held.keys, source.sha256)


def read_first(sources: Sequence[SnapshotSource]) -> Snapshot:
    """The first of some snapshots that can be used: the one in force, or else the last good one before it. Raises SetupError."""
    faults: list[str] = []
    for source in sources:
        try:
            snapshot = read(source)
        except SetupError as error:
            log.error("%s", error.message)
            faults.append(error.message)
            continue
        if faults:
            log.error(
                "going on with the settings of epoch %d, which were the last good ones; SIGHUP writes them anew", source.epoch
            )
        return snapshot
    raise SetupError("; ".join(faults), remedy="send SIGHUP to the server, or start it anew: it writes the file again")


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on the disk."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _unusable(source: SnapshotSource, what: str) -> SetupError:
    return SetupError(f"the snapshot {source.path} {what}", remedy="send SIGHUP to the server: it writes the file again")


def _unwritten(path: Path, error: OSError) -> SetupError:
    kind = NoSpace if error.errno in (errno.ENOSPC, errno.EDQUOT) else SetupError
    what = f"the settings cannot be written to {path.parent}: {error.strerror}"
    return kind(what, remedy="free some space there and check its rights, or set data_dir to another folder")
