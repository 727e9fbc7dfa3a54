"""Keeps what OpenVINO derives from a model: the converted network, its tokenizer, and the facts that an engine wants to know of it.

A cache entry is a folder named by the model's fingerprint. It is made under another name and renamed when it is whole, under a lock
that other processes wait for and that the system drops with its holder; so nobody ever sees half of one, and a crash leaves only
rubbish that the next maker sweeps away.
"""

import contextlib
import errno
import fcntl
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from antiphon.core.errors import NoSpace, SetupError

CARD: Final = "card.msgpack"
_FORMAT: Final = 1
_EDGE: Final = 1 << 22
_MARGIN: Final = 64 << 20


class ModelCard(msgspec.Struct, frozen=True):
    """Facts about a model, in the cache beside it."""

    context_length: int
    vocabulary: int
    """Entries of the logits, which may be more than the tokenizer has tokens."""
    chat_template: str
    bos_token: str
    eos_token: str
    eos_id: int
    end_ids: tuple[int, ...]
    pieces: tuple[bytes, ...]
    """Bytes of each token, by id."""
    control_tokens: tuple[str, ...]
    """Texts that the tokenizer takes for control tokens."""
    kv_block_bytes: int
    """Memory of one block of the KV cache, measured."""


class Entry(msgspec.Struct, frozen=True):
    """A model that is ready to be loaded."""

    folder: str
    card: ModelCard


Maker = Callable[[str, str], ModelCard]
"""Writes what is derived from the model at the first path into the folder at the second, and gives its card."""


def fingerprint(path: str, versions: str) -> str:
    """Changes when the model at ``path`` or the library does: names, sizes, times, and the first and last 4 MiB of each file."""
    digest = hashlib.sha256(f"{_FORMAT} {versions}".encode())
    root = Path(path)
    for file in [root] if root.is_file() else sorted(item for item in root.iterdir() if item.is_file()):
        state = file.stat()
        digest.update(f"{file.name if file != root else ''} {state.st_size} {state.st_mtime_ns}\n".encode())
        with file.open("rb") as data:
            digest.update(data.read(_EDGE))
            if state.st_size > 2 * _EDGE:
                data.seek(-_EDGE, os.SEEK_END)
                digest.update(data.read(_EDGE))
    return digest.hexdigest()[:24]


def entry_for(path: str, cache_dir: str, versions: str, bytes_needed: int, make: Maker) -> Entry:
    """The cache entry of the model at ``path``, made now if there is none. Raises SetupError, or NoSpace naming the figures."""
    try:
        target = _target(path, cache_dir, versions)
        root = target.parent
        root.mkdir(parents=True, exist_ok=True)
        entry = _read(target)
        if entry is not None:
            return entry
        with _locked(root / f"{target.name}.lock"):
            return _read(target) or _made(path, target, bytes_needed, make)
    except OSError as error:
        raise _disk_error(error, cache_dir) from error


def is_made(path: str, cache_dir: str, versions: str) -> bool:
    """Whether there is a cache entry of the model at ``path``."""
    return _read(_target(path, cache_dir, versions)) is not None


def _target(path: str, cache_dir: str, versions: str) -> Path:
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(path).stem)[:60]
    return Path(cache_dir) / "openvino" / f"{name}-{fingerprint(path, versions)}"


def forget(entry: Entry) -> None:
    """Remove an entry that turned out to be unusable."""
    shutil.rmtree(entry.folder, ignore_errors=True)


def update_card(entry: Entry, card: ModelCard) -> Entry:
    """Replace an entry's card, atomically."""
    file = Path(entry.folder) / CARD
    fresh = file.with_suffix(f".{os.getpid()}")
    fresh.write_bytes(msgspec.msgpack.encode(card))
    fresh.replace(file)
    return Entry(entry.folder, card)


def _read(target: Path) -> Entry | None:
    try:
        card = msgspec.msgpack.decode((target / CARD).read_bytes(), type=ModelCard)
    except (FileNotFoundError, msgspec.DecodeError):
        return None
    return Entry(str(target), card)


def _made(path: str, target: Path, bytes_needed: int, make: Maker) -> Entry:
    for rubbish in target.parent.glob(f".{target.name}-*"):
        shutil.rmtree(rubbish, ignore_errors=True)
    shutil.rmtree(target, ignore_errors=True)
    _make_sure_of_space(target.parent, bytes_needed)
    folder = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        card = make(path, str(folder))
        (folder / CARD).write_bytes(msgspec.msgpack.encode(card))
        _sync(folder)
        folder.rename(target)
    except BaseException as error:
        full = shutil.disk_usage(folder).free < _MARGIN
        shutil.rmtree(folder, ignore_errors=True)
        if full and isinstance(error, Exception):  # the library does not say what kept it from writing
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
        raise
    return Entry(str(target), card)


def _sync(folder: Path) -> None:
    """Have the disk take every file; that also brings out what a full disk swallowed."""
    for file in folder.iterdir():
        with file.open("rb") as data:
            os.fsync(data.fileno())


def _make_sure_of_space(folder: Path, bytes_needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < bytes_needed + _MARGIN:
        raise _no_space(str(folder), free, bytes_needed + _MARGIN)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _no_space(folder: str, free: int, needed: int) -> NoSpace:
    return NoSpace(
        f'the converted model needs {needed >> 20} MiB in "{folder}", where {free >> 20} MiB are free',
        remedy="free some space there or set cache_dir to a bigger disk",
    )


def _disk_error(error: OSError, cache_dir: str) -> SetupError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return NoSpace(f'the disk of "{cache_dir}" is full', remedy="free some space there or set cache_dir to a bigger disk")
    return SetupError(
        f'the model cache in "{cache_dir}" cannot be used: {error}', remedy="set cache_dir to a folder that can be written"
    )
