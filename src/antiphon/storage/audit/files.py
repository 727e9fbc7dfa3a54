"""The files of a server's audit trail. Each is made when it is first needed, for its user alone; processes wait for each other."""

import contextlib
import fcntl
import os
import re
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, Literal

import msgspec
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from antiphon.core.errors import SetupError
from antiphon.governance.audit.checkpoint import Checkpoint, Signer, decode, encode
from antiphon.governance.audit.verification import Head

OpenFile = Callable[[Path, int], int]
"""Opens a file with these flags and gives back its descriptor. Raises OSError."""

_NAME: Final = re.compile(rb"[0-9a-f]{16}\n?")
_NAME_BYTES: Final = 8
_TAIL: Final = 64 << 10
"""Bytes at the end of the file in which the last checkpoint of a chain is looked for first."""


class AuditPlaces(msgspec.Struct, frozen=True):
    """Where the files lie."""

    chain: Path
    """The name of the chain that this server writes."""
    key: Path
    """The private key, PEM."""
    checkpoints: Path
    """One signed line each."""


def open_private(path: Path, flags: int) -> int:
    """Open a file in a folder that is made where it is missing; both are this user's alone when they are new."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    return os.open(path, flags, 0o600)


class AuditFiles:
    """The files at some places. Every method raises OSError where they cannot be used."""

    def __init__(self, places: AuditPlaces, open_file: OpenFile = open_private) -> None:
        self.places = places
        self._open = open_file

    def chain(self) -> str:
        """The chain that this server writes; it is given a name where it has none."""
        with self._locked(self.places.chain) as fd:
            found = os.pread(fd, 64, 0)
            return found.decode().strip() if _NAME.fullmatch(found) else _named_anew(fd)

    def new_chain(self) -> str:
        """Give the server another chain."""
        with self._locked(self.places.chain) as fd:
            return _named_anew(fd)

    def known_chain(self) -> str:
        """The chain that this server writes; empty where it has none yet."""
        with contextlib.suppress(FileNotFoundError):
            found = self.places.chain.read_bytes()
            return found.decode().strip() if _NAME.fullmatch(found) else ""
        return ""

    def signer(self) -> Signer:
        """The private key, which is made where there is none. Raises SetupError too, where the file holds something else."""
        known = self.known_signer()  # it may lie where nobody can write
        if known is not None:
            return known
        with self._locked(self.places.key) as fd:
            if found := os.pread(fd, 1 << 16, 0):
                return self._read(found)
            key = Ed25519PrivateKey.generate()
            pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
            _replace(fd, pem)
            return Signer(key)

    def known_signer(self) -> Signer | None:
        """The private key; None where there is none yet. Raises SetupError too, where the file holds something else."""
        with contextlib.suppress(FileNotFoundError):
            return self._read(found) if (found := self.places.key.read_bytes()) else None
        return None

    def last(self, chain: str) -> Checkpoint | None:
        """The last checkpoint of a chain."""
        try:
            with self.places.checkpoints.open("rb") as file:
                return _last(file.fileno(), chain)
        except FileNotFoundError:
            return None

    def append(self, chain: str, kind: Literal["checkpoint", "cut"], upto: Head, at: float) -> Checkpoint:
        """Sign how far a chain has come, and write it down, on the disk when this returns. Raises SetupError too, as ``signer``."""
        signer = self.signer()
        with self._locked(self.places.checkpoints) as fd:
            _drop_half_a_line(fd)
            last = _last(fd, chain)
            index = last.index + 1 if last is not None else 1
            made = Checkpoint(chain=chain, index=index, kind=kind, number=upto.number, hash=upto.hash, at=at, key="")
            signed = signer.sign(made)
            _write(fd, encode(signed), os.fstat(fd).st_size)
            return signed

    @contextlib.contextmanager
    def _locked(self, path: Path) -> Iterator[int]:
        fd = self._open(path, os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield fd
        finally:
            os.close(fd)

    def _read(self, pem: bytes) -> Signer:
        try:
            key = serialization.load_pem_private_key(pem, None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            key = None
        if isinstance(key, Ed25519PrivateKey):
            return Signer(key)
        raise SetupError(
            f"{self.places.key} holds no Ed25519 private key in PEM without a passphrase",
            remedy='make one with "openssl genpkey -algorithm ed25519", or remove the file and have one made',
        )


def checkpoints_in(path: Path) -> Iterator[Checkpoint | None]:
    """The lines of a file of checkpoints; None for one that is none. Half a line at the end is not told. Raises OSError."""
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield _decoded(line)


def _decoded(line: bytes) -> Checkpoint | None:
    try:
        return decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _last(fd: int, chain: str) -> Checkpoint | None:
    size = os.fstat(fd).st_size
    for start in dict.fromkeys((max(0, size - _TAIL), 0)):
        for line in reversed(os.pread(fd, size - start, start).splitlines()):
            found = _decoded(line)
            if found is not None and found.chain == chain:
                return found
    return None


def _drop_half_a_line(fd: int) -> None:
    """What was being written when the power went."""
    size = os.fstat(fd).st_size
    start = max(0, size - _TAIL)
    tail = os.pread(fd, size - start, start)
    if tail and not tail.endswith(b"\n"):
        os.ftruncate(fd, start + tail.rfind(b"\n") + 1)


def _named_anew(fd: int) -> str:
    name = secrets.token_hex(_NAME_BYTES)
    _replace(fd, f"{name}\n".encode())
    return name


def _replace(fd: int, data: bytes) -> None:
    os.ftruncate(fd, 0)
    _write(fd, data, 0)


def _write(fd: int, data: bytes, at: int) -> None:
    while data:
        written = os.pwrite(fd, data, at)
        data, at = data[written:], at + written
    os.fsync(fd)
