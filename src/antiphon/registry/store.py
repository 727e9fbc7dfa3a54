"""The local store of model files.

Layout below the cache folder, ``<name>`` with ``/`` and ``:`` percent-encoded::

    models/<name>/              the files of a model that is whole, and manifest.json
    models/.partial/<name>/     what an unfinished fetch has brought so far; <name>~source.json beside it says from where
    models/.locks/<name>        held while that model is fetched or removed

A model appears in its place in one rename, after its hash has been checked, so that what stands there is whole.
"""

import os
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec

from antiphon.core.errors import ChecksumMismatch, ModelSourceError
from antiphon.registry.disk import disk_errors, locked, sync_folder, write_atomically
from antiphon.registry.files import ModelFile, check_sha256, combined_sha256, sha256_of
from antiphon.registry.names import check_name, folder_name
from antiphon.registry.progress import Progress, silent
from antiphon.registry.sources import GROUP, Fetch, Fetched, LocalSource, Source, SourcePlugin

_MANIFEST = "manifest.json"

State = Literal["ready", "not fetched", "broken"]


class StoredModel(msgspec.Struct, frozen=True):
    """A model whose files are on this machine; what its manifest says."""

    name: str
    source: str
    """Where it was fetched from."""
    sha256: str
    """Of its one file, or of the list of all its files as ``sha256sum`` prints it."""
    size: int
    """Bytes of all files."""
    files: tuple[ModelFile, ...]
    fetched_at: datetime
    folder: str
    """Absolute path of the folder that the files lie in; the manifest of a model in the store leaves it out."""
    in_place: bool = False
    """The files lie outside of the store, which neither changes nor removes them."""

    @property
    def path(self) -> Path:
        """What an engine loads: the file of a model that is one file, otherwise the folder."""
        return Path(self.folder, self.files[0].path) if len(self.files) == 1 else Path(self.folder)

    def matches(self, source: str, sha256: str = "") -> bool:
        """Whether a fetch from that source, with that expected hash or none, would bring this model."""
        parsed = Source.parse(source)
        expected = (sha256 or parsed.sha256).lower()
        return self.sha256 == expected if expected else self.source == str(parsed)

    def damage(self) -> str:
        """What is wrong with the files as far as their sizes and times tell; empty if nothing is."""
        for file in self.files:
            path = Path(self.folder, file.path)
            try:
                status = path.stat()
            except OSError as error:
                return f"{path}: {error.strerror}"
            if status.st_size != file.size:
                return f"{path} has {status.st_size} bytes instead of {file.size}"
            if self.in_place and status.st_mtime_ns != file.mtime_ns:
                return f"{path} has been changed since its hash was taken"
        return ""


class _Origin(msgspec.Struct, frozen=True):
    """What an unfinished fetch is a fetch of."""

    source: str
    sha256: str


class Store:
    """The models on this machine. Every method may be called by several processes at once."""

    def __init__(self, cache_dir: str | Path, environ: Mapping[str, str] | None = None) -> None:
        self.root = Path(cache_dir).absolute() / "models"
        self._environ = os.environ if environ is None else environ

    def get(self, name: str) -> StoredModel | None:
        """The model of that name, if all of its files are there."""
        model = self._manifest(self.root / folder_name(name))
        return model if model and not model.damage() else None

    def list(self) -> tuple[StoredModel, ...]:
        """All models with a readable manifest, damaged ones too, sorted by name."""
        folders = self.root.iterdir() if self.root.is_dir() else ()
        models = [self._manifest(folder) for folder in folders if not folder.name.startswith(".")]
        return tuple(sorted((model for model in models if model), key=lambda model: model.name))

    def state(self, name: str) -> State:
        """Whether a model could be loaded now."""
        if self.get(name):
            return "ready"
        return "broken" if (self.root / folder_name(name)).exists() else "not fetched"

    def fetch(self, name: str, source: str, sha256: str = "", progress: Progress = silent, *, anew: bool = False) -> StoredModel:
        """The model of that name from that source; brought first unless it is here. ``anew`` brings it in any case.

        A model without an expected hash is held to the one of its first fetch for as long as it comes from the same source and is
        not removed. Raises ModelSourceError and its kin, NoSpace or SetupError.
        """
        parsed, expected = _parsed(source, sha256)
        final = self.root / folder_name(name)
        found = self.get(name)
        if found and not anew and found.matches(source, sha256):
            return found  # without the lock, so that a store that was filled and made read-only serves
        with locked(self._lock(name), lambda: progress(0, None, f"waiting for another process that fetches {name}")):
            known = self._manifest(final)
            if known and not anew and not known.damage() and known.matches(source, sha256):
                return known
            pinned = known.sha256 if known and known.source == str(parsed) else ""
            plugin: SourcePlugin = GROUP.load(parsed.kind)
            if isinstance(plugin, LocalSource):
                self._check_apart(parsed)
            partial = self._begin(name, _Origin(source=str(parsed), sha256=expected))
            job = Fetch(folder=partial, progress=progress, environ=self._environ, sha256=expected)
            model = self._described(name, parsed, plugin.fetch(parsed, job), partial)
            self._check(model, expected, pinned, partial)
            return self._install(model, partial, final)

    def check(self, name: str, source: str, sha256: str = "") -> None:
        """Raises ModelSourceError where ``fetch`` would, as far as that can be told without the network and without hashing."""
        parsed, _ = _parsed(source, sha256)
        found = self.get(name)
        plugin: SourcePlugin = GROUP.load(parsed.kind)
        if isinstance(plugin, LocalSource) and not (found and found.matches(source, sha256)):
            self._check_apart(parsed)
            plugin.look(parsed)

    def holds(self, name: str) -> bool:
        """Whether there are files of a model of that name, whole or damaged."""
        return (self.root / folder_name(name)).exists()

    def unfinished(self, name: str) -> bool:
        """Whether an unfinished fetch of a model of that name has left anything."""
        return self._partial(name).exists() or self._note(name).exists()

    def remove(self, name: str) -> bool:
        """Remove a model, what an unfinished fetch left, and the memory of its hash. False if there was nothing."""
        found = False
        with locked(self._lock(name), lambda: None):
            for folder in (self.root / folder_name(name), self._partial(name)):
                found |= folder.exists()
                self._clear(folder)
            if (note := self._note(name)).exists():
                found = True
                with disk_errors(note):
                    note.unlink()
        return found

    def verify(self, name: str, progress: Progress = silent) -> StoredModel:
        """Hash all files again. Raises ChecksumMismatch naming a file that has changed, ModelSourceError where one is missing."""
        model = self._manifest(self.root / folder_name(name))
        if model is None:
            raise ModelSourceError(f'model "{name}" is not in the store', remedy=f'fetch it with "antiphon models pull {name}"')
        if damage := model.damage():
            raise ModelSourceError(
                f'model "{name}" is broken: {damage}', remedy=f'fetch it again with "antiphon models pull {name}"'
            )
        for file in model.files:
            actual = sha256_of(Path(model.folder, file.path), progress, f"checking {file.path}")
            check_sha256(
                f"{name}: {file.path}", file.sha256, actual, remedy=f'fetch it again with "antiphon models pull --force {name}"'
            )
        return model

    def _check_apart(self, source: Source) -> None:
        """Raises ModelSourceError where a source that is used where it lies is part of this store, which removes what it has."""
        place = Path(os.path.realpath(source.address))  # Path.resolve raises where links lead in a circle
        if place.is_relative_to(os.path.realpath(self.root)):
            raise ModelSourceError(
                f"{source.address} lies in {self.root}, where Antiphon keeps the models that it fetches and removes",
                remedy='copy it to a folder of your own, or use that model by its name ("antiphon models list")',
            )

    def _lock(self, name: str) -> Path:
        return self.root / ".locks" / folder_name(name)

    def _partial(self, name: str) -> Path:
        return self.root / ".partial" / folder_name(name)

    def _note(self, name: str) -> Path:
        """Says what the unfinished fetch is one of; no name of a model has a ~ in it."""
        return self._partial(name).with_name(f"{folder_name(name)}~source.json")

    def _manifest(self, folder: Path) -> StoredModel | None:
        try:
            model = msgspec.json.decode((folder / _MANIFEST).read_bytes(), type=StoredModel)
        except (OSError, msgspec.MsgspecError):
            return None
        return model if model.in_place else msgspec.structs.replace(model, folder=str(folder))

    def _begin(self, name: str, origin: _Origin) -> Path:
        """The folder to fetch into, with what an earlier try at the same fetch has left in it."""
        partial, note = self._partial(name), self._note(name)
        try:
            same = msgspec.json.decode(note.read_bytes(), type=_Origin) == origin
        except (OSError, msgspec.MsgspecError):
            same = False
        if not same:
            self._clear(partial)
        with disk_errors(partial):
            partial.mkdir(parents=True, exist_ok=True)
        write_atomically(note, msgspec.json.encode(origin))
        return partial

    def _described(self, name: str, source: Source, fetched: Fetched, partial: Path) -> StoredModel:
        return StoredModel(
            name=check_name(name),
            source=str(source),
            sha256=combined_sha256(fetched.files),
            size=sum(file.size for file in fetched.files),
            files=fetched.files,
            fetched_at=datetime.now(UTC),
            folder=str(fetched.folder),
            in_place=fetched.folder != partial,
        )

    def _check(self, model: StoredModel, expected: str, pinned: str, partial: Path) -> None:
        changed = f'the source has changed since the first fetch; if it may, "antiphon models rm {model.name}" and fetch it again'
        try:
            check_sha256(model.source, expected or pinned, model.sha256, remedy="" if expected else changed)
        except ChecksumMismatch:
            self._clear(partial)
            raise

    def _install(self, model: StoredModel, partial: Path, final: Path) -> StoredModel:
        kept = {partial / file.path for file in model.files}
        outgoing = partial.with_name(f"{partial.name}~old")
        with disk_errors(final):
            for path in partial.rglob("*"):  # left by an earlier try and not wanted any more
                if path.is_file() and path not in kept:
                    path.unlink()
            manifest = model if model.in_place else msgspec.structs.replace(model, folder="")
            write_atomically(partial / _MANIFEST, msgspec.json.format(msgspec.json.encode(manifest)))
            self._clear(outgoing)
            if final.exists():
                final.rename(outgoing)
            partial.rename(final)
            sync_folder(self.root)
            self._clear(outgoing)
            self._note(model.name).unlink(missing_ok=True)
        return model if model.in_place else msgspec.structs.replace(model, folder=str(final))

    def _clear(self, folder: Path) -> None:
        if folder.exists():
            with disk_errors(folder):
                shutil.rmtree(folder)


def _parsed(source: str, sha256: str) -> tuple[Source, str]:
    """The source, and the SHA-256 that its model must have, empty for any. Raises ModelSourceError where two are asked for."""
    parsed = Source.parse(source)
    expected = sha256.lower() or parsed.sha256
    if parsed.sha256 not in {"", expected}:
        what = f"the configured sha256 is {expected}, and the source ends in #sha256={parsed.sha256}"
        raise ChecksumMismatch(what, remedy="give the one that is right, once")
    return parsed, expected
