"""Models that were added with ``antiphon models add``, kept in ``models.json`` in the data folder."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec

from antiphon.core.errors import ConfigError, ModelNotFound
from antiphon.registry.disk import locked, write_atomically
from antiphon.registry.names import check_name


class CatalogueEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An added model. The fields are those of a model in the configuration and mean the same."""

    name: str
    source: str
    sha256: str = ""
    engine: str = "openvino"
    threads: int = 0
    context: int = 0
    kv_cache_mb: int = 512
    max_running: int = 64
    max_waiting: int = 256
    precision: str = "default"
    adapters: dict[str, str] = {}
    temperature: float = 1.0
    top_p: float = 1.0
    max_tokens: int = 0


class BrokenEntry(msgspec.Struct, frozen=True):
    """An entry that cannot be served."""

    name: str
    """Empty where not even that can be read."""
    reason: str


class _Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    models: tuple[msgspec.Raw, ...] = ()
    """Each by itself, so that a broken one spoils no other."""


class _Named(msgspec.Struct, frozen=True):
    name: str = ""


class Catalogue:
    """The added models. Every method may be called by several processes at once."""

    def __init__(self, data_dir: str | Path) -> None:
        self.file = Path(data_dir).absolute() / "models.json"

    def list(self) -> tuple[CatalogueEntry, ...]:
        """All entries that can be read, in the order in which they were added. Raises ConfigError where the file cannot."""
        return tuple(entry for entry in self.all() if isinstance(entry, CatalogueEntry))

    def all(self) -> Sequence[CatalogueEntry | BrokenEntry]:
        """All entries in the order in which they were added. Raises ConfigError as ``list`` does."""
        return [_entry(raw) for raw in self._raw()]

    def broken(self) -> tuple[BrokenEntry, ...]:
        """All other entries. Raises ConfigError as ``list`` does."""
        return tuple(entry for entry in self.all() if isinstance(entry, BrokenEntry))

    def _raw(self) -> tuple[msgspec.Raw, ...]:
        try:
            return msgspec.json.decode(self.file.read_bytes(), type=_Document).models
        except FileNotFoundError:
            return ()
        except NotADirectoryError as error:
            raise ConfigError(
                f"data_dir is {self.file.parent}, which is no folder", remedy="name another data_dir, or move that file away"
            ) from error
        except OSError as error:
            raise ConfigError(
                f"cannot read: {error.strerror}", file=str(self.file), remedy="give this user the right to read it"
            ) from error
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise ConfigError(
                str(error), file=str(self.file), remedy="correct the file, or remove it and add the models again"
            ) from error

    def get(self, name: str) -> CatalogueEntry | None:
        """The entry of that name."""
        return next((entry for entry in self.list() if entry.name == name), None)

    def check_free(self, name: str) -> None:
        """Raises ConfigError where there is an entry of that name already, or the name is not one for a model."""
        check_name(name)
        for known in self.all():
            if known.name != name:
                continue
            origin = f", from {known.source}" if isinstance(known, CatalogueEntry) else ""
            raise ConfigError(
                f'model "{name}" is in the catalogue already{origin}',
                remedy=f'take another name, or "antiphon models rm {name}" first',
            )

    def add(self, entry: CatalogueEntry) -> None:
        """Add an entry. Raises ConfigError as ``check_free`` does."""
        with self._locked():
            self.check_free(entry.name)
            self._write((*self._raw(), msgspec.Raw(msgspec.json.encode(entry))))

    def remove(self, name: str) -> CatalogueEntry | BrokenEntry:
        """Remove an entry, a broken one too, and return it. Raises ModelNotFound where there is none of that name."""
        with self._locked():
            raws = self._raw()
            entries = [_entry(raw) for raw in raws]
            for place, entry in enumerate(entries):
                if entry.name == name:
                    self._write((*raws[:place], *raws[place + 1 :]))
                    return entry
        known = ", ".join(entry.name for entry in entries) or "none"
        raise ModelNotFound(f'model "{name[:200]}" has not been added', remedy=f"added models: {known}")

    def _locked(self) -> AbstractContextManager[None]:
        return locked(self.file.with_name(".models.lock"), lambda: None)

    def _write(self, entries: tuple[msgspec.Raw, ...]) -> None:
        write_atomically(self.file, msgspec.json.format(msgspec.json.encode(_Document(models=entries))))


def _entry(raw: msgspec.Raw) -> CatalogueEntry | BrokenEntry:
    try:
        return msgspec.json.decode(raw, type=CatalogueEntry)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        reason = str(error)
    try:
        name = msgspec.json.decode(raw, type=_Named).name
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        name = ""
    return BrokenEntry(name, reason)


def known_names(data_dir: Path) -> tuple[str, ...]:
    """Names of the added models, for whoever must know what an alias may lead to. Raises ConfigError as ``Catalogue.list`` does."""
    catalogue = Catalogue(data_dir)
    return tuple(entry.name for entry in catalogue.all() if entry.name)
