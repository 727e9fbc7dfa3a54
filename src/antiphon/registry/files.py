"""The files of a model: which are taken, under which names, and their SHA-256."""

import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import Self

import msgspec

from antiphon.core.errors import ChecksumMismatch, ModelSourceError
from antiphon.registry.disk import disk_errors
from antiphon.registry.progress import Progress, silent

PICKLES = frozenset({".bin", ".ckpt", ".joblib", ".npy", ".pickle", ".pkl", ".pt", ".pth"})
"""Types that may be Python pickles, which run code when loaded. A ``.bin`` beside an ``.xml`` is OpenVINO's: mere numbers."""
COMPANIONS = frozenset({".jinja", ".json", ".model", ".txt"})
"""Tokenizer, chat template and configuration in a folder with OpenVINO IR."""
CHUNK = 1 << 20
_SHARD = re.compile(r"(?P<stem>.+)-\d{5}-of-(?P<count>\d{5})\.gguf", re.IGNORECASE)


class ModelFile(msgspec.Struct, frozen=True):
    """A file of a model."""

    path: str
    """Relative to the folder of the model, with ``/``."""
    size: int
    """Bytes."""
    sha256: str
    mtime_ns: int = 0
    """Time of the last change of a file that is used where it lies; 0 for a file in the store."""


def safe_path(path: str) -> str:
    """The path itself, if it stays below whatever folder it is put in. Raises ModelSourceError where it does not."""
    parts = path.split("/")
    if "\\" in path or "\0" in path or any(part in {"", ".", ".."} for part in parts) or ":" in parts[0]:
        raise ModelSourceError(
            f'"{path}" is not the path of a file inside a source',
            remedy="write it as folder/file, without .. and without / in front",
        )
    return path


def check_model_file(path: str) -> str:
    """The path itself, if a single file of that type can be a model. Raises ModelSourceError where it cannot."""
    safe_path(path)
    ending = PurePosixPath(path).suffix.lower()
    if ending == ".gguf":
        return path
    if ending in PICKLES:
        raise ModelSourceError(
            f'"{path}" is refused: {ending} files may be pickles, which can run code',
            remedy="take the model as .gguf or as OpenVINO IR",
        )
    raise ModelSourceError(
        f'"{path}" is refused: {ending or "a file without an ending"} is not a model',
        remedy="name a .gguf file, or a folder with OpenVINO IR",
    )


def select_model_files(paths: Iterable[str], place: str) -> tuple[str, ...]:
    """What belongs to the model in a folder or repository, sorted: OpenVINO IR with its tokenizer, or else its one GGUF.

    Raises ModelSourceError where there is no model, or more than one.
    """
    names = {safe_path(path) for path in paths}
    graphs = {name for name in names if name.lower().endswith(".xml") and f"{name[:-4]}.bin" in names}
    if graphs:
        weights = {f"{name[:-4]}.bin" for name in graphs}
        return tuple(sorted(graphs | weights | {name for name in names if PurePosixPath(name).suffix.lower() in COMPANIONS}))
    models = sorted(name for name in names if name.lower().endswith(".gguf"))
    if len(models) == 1 or _one_set(models):
        return tuple(models)
    if models:
        raise ModelSourceError(f"{place} has {len(models)} models: {_enumerate(models)}", remedy="name one of them behind a #")
    pickles = sorted(name for name in names if PurePosixPath(name).suffix.lower() in PICKLES)
    if pickles:
        raise ModelSourceError(
            f"{place} is refused: {_enumerate(pickles)} may be pickles, which can run code",
            remedy="take the model as .gguf or as OpenVINO IR",
        )
    raise ModelSourceError(f"{place} holds no model", remedy="name a .gguf file, or a folder with OpenVINO IR (.xml and .bin)")


def _one_set(models: Sequence[str]) -> bool:
    shards = [_SHARD.fullmatch(name) for name in models]
    found = {(shard["stem"], int(shard["count"])) for shard in shards if shard}
    return all(shards) and len(found) == 1 and next(iter(found))[1] == len(models)


def _enumerate(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")


def check_content(path: Path, name: str) -> None:
    """Raises ModelSourceError where a .gguf file does not begin as one, as a page that says "sign in" does not."""
    if name.lower().endswith(".gguf"):
        with path.open("rb") as file:
            begin = file.read(4)
        if begin != b"GGUF":
            raise ModelSourceError(f'"{name}" is not a GGUF file: it begins with {begin!r}', remedy="check the source")


def check_sha256(name: str, expected: str, actual: str, *, remedy: str = "") -> None:
    """Raises ChecksumMismatch where the hashes differ. An empty expected one agrees with every hash."""
    if expected and expected.lower() != actual:
        raise ChecksumMismatch(
            f"{name} has SHA-256 {actual}, expected was {expected.lower()}",
            remedy=remedy or "if the source is right, correct sha256; if it is not, do not use the file",
        )


def combined_sha256(files: Sequence[ModelFile]) -> str:
    """SHA-256 of a model: that of its one file, or of the list that ``sha256sum`` prints for all, sorted by path."""
    if len(files) == 1:
        return files[0].sha256
    lines = sorted((file.path, file.sha256) for file in files)
    return hashlib.sha256("".join(f"{digest}  {path}\n" for path, digest in lines).encode()).hexdigest()


def sha256_of(path: Path, progress: Progress, text: str) -> str:
    """SHA-256 of a file."""
    digest = hashlib.sha256()
    total = path.stat().st_size
    done = 0
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
            done += len(chunk)
            progress(done, total, text)
    return digest.hexdigest()


class PartFile:
    """A file being written under a name that ends in ``.part``, hashed on the way, which gets its own name once it is whole.

    Opening it goes on behind the first ``keep`` bytes that are there; what is behind them is cut off. ``total`` is the size that
    the whole file will have, None where that is not known.
    """

    def __init__(self, target: Path, *, total: int | None, keep: int = 0, progress: Progress = silent) -> None:
        self.target = target
        self.path = part_path(target)
        self.total = total
        self.size = 0
        self._digest = hashlib.sha256()
        with disk_errors(self.path, lambda: total):
            target.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.fdopen(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644), "r+b", buffering=0)
            while self.size < keep and (chunk := self._file.read(min(CHUNK, keep - self.size))):
                self._digest.update(chunk)
                self.size += len(chunk)
                progress(self.size, total, f"checking what is there of {target.name}")
            self._file.truncate(self.size)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, data: bytes) -> None:
        with disk_errors(self.path, lambda: self.total):
            view = memoryview(data)
            while view:
                written = self._file.write(view)
                self._digest.update(view[:written])
                self.size += written
                view = view[written:]

    def finish(self, name: str, sha256: str) -> ModelFile:
        """Check the hash, make the file durable and give it its name. A file that is not the expected one is removed."""
        digest = self._digest.hexdigest()
        try:
            check_sha256(name, sha256, digest)
            check_content(self.path, name)
        except ModelSourceError:
            self.path.unlink(missing_ok=True)
            raise
        with disk_errors(self.path, lambda: self.total):
            os.fsync(self._file.fileno())
            self.path.replace(self.target)
        return ModelFile(path=name, size=self.size, sha256=digest)


def part_path(target: Path) -> Path:
    """Where a file is kept until it is whole."""
    return target.with_name(f"{target.name}.part")


def already_fetched(target: Path, name: str, sha256: str, progress: Progress) -> ModelFile | None:
    """The file of an interrupted fetch, where it is whole and known to be the expected one; otherwise it is removed."""
    if sha256 and target.is_file() and sha256_of(target, progress, f"checking {name}") == sha256.lower():
        return ModelFile(path=name, size=target.stat().st_size, sha256=sha256.lower())
    target.unlink(missing_ok=True)
    return None
