"""Local models: what the settings and the catalogue name, and where their files are."""

import difflib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec

from antiphon.config import LocalModelSettings, Settings
from antiphon.core.errors import ConfigError, ModelNotFound, ModelSourceError
from antiphon.registry.catalogue import BrokenEntry, Catalogue, CatalogueEntry
from antiphon.registry.gguf import GgufInfo, read_gguf
from antiphon.registry.names import check_name, is_name
from antiphon.registry.progress import Progress, silent
from antiphon.registry.sources import Source, is_marked
from antiphon.registry.store import State, Store, StoredModel

Origin = Literal["configured", "added", "cached"]


class ModelOverview(msgspec.Struct, frozen=True):
    """A local model in one line."""

    name: str
    state: State
    origin: Origin
    """In the configuration, added with ``antiphon models add``, or only in the store."""
    source: str
    sha256: str
    size: int | None
    """Bytes; None until it is fetched."""
    path: str | None
    """What an engine loads; None until it is fetched."""


class ModelDetails(msgspec.Struct, frozen=True):
    """A local model with everything that is known of it."""

    overview: ModelOverview
    options: LocalModelSettings | None
    """How it is run; None for a model that is only in the store."""
    stored: StoredModel | None
    gguf: GgufInfo | None
    damage: str
    """What is wrong with its files; empty if nothing is, as far as one can tell without hashing them."""


class Removal(msgspec.Struct, frozen=True):
    """What the removal of a model removes."""

    name: str
    entry: bool
    """Its entry in the catalogue of added models."""
    files: bool
    """Files that were fetched for it."""
    unfinished: bool
    """What an unfinished fetch of it has left."""
    configured: bool
    """It stands in the configuration and is served and fetched again until it is taken out there."""
    stays: str = ""
    """The user's own file or folder, which is used where it lies and never removed; empty where it has none."""


def store(settings: Settings) -> Store:
    """The model files on this machine."""
    return Store(settings.cache_dir)


def catalogue(settings: Settings) -> Catalogue:
    """The models added with ``antiphon models add``."""
    return Catalogue(settings.data_dir)


def local_models(settings: Settings) -> tuple[LocalModelSettings, ...]:
    """All models that this machine is to serve: those of the settings, then the added ones. A name in both means the former.

    Added ones that are broken are left out; ``broken_models`` tells them.
    """
    configured = {model.name for model in settings.models}
    entries = (entry for entry in catalogue(settings).list() if entry.name not in configured)
    added = (_checked(entry) for entry in entries)
    return (*settings.models, *(model for model in added if isinstance(model, LocalModelSettings)))


def broken_models(settings: Settings) -> tuple[BrokenEntry, ...]:
    """The entries of the catalogue that cannot be served. Raises ConfigError where the catalogue cannot be read."""
    configured = {model.name for model in settings.models}
    added = catalogue(settings)
    entries = (_checked(entry) for entry in added.list() if entry.name not in configured)
    return (*added.broken(), *(entry for entry in entries if isinstance(entry, BrokenEntry)))


def _checked(entry: CatalogueEntry) -> LocalModelSettings | BrokenEntry:
    """An added model as if it stood in the configuration, or what is wrong with it. Touches no network."""
    try:
        check_name(entry.name)
        Source.parse(entry.source)
        return as_settings(entry)
    except (ModelSourceError, msgspec.ValidationError) as error:
        return BrokenEntry(entry.name, str(error))


def as_settings(entry: CatalogueEntry) -> LocalModelSettings:
    """An added model as if it stood in the configuration."""
    return msgspec.convert(entry, LocalModelSettings, from_attributes=True)


def resolve(settings: Settings, model: str) -> tuple[LocalModelSettings, Path | None]:
    """The model of that name, or else what that source or path means, and its path on this machine, None until it is fetched.

    Raises ModelNotFound where it is neither.
    """
    known = local_models(settings)
    chosen = next((each for each in known if each.name == model), None) or _from_source(model, known)
    stored = store(settings).get(chosen.name)
    return chosen, stored.path if stored and stored.matches(chosen.source, chosen.sha256) else None


def fetch(settings: Settings, model: LocalModelSettings, progress: Progress = silent, *, anew: bool = False) -> StoredModel:
    """The model's files, brought unless they are here. Raises as ``Store.fetch`` does, with the model's name."""
    try:
        return store(settings).fetch(model.name, model.source, model.sha256, progress, anew=anew)
    except ModelSourceError as error:
        raise type(error)(f'model "{model.name}": {error.message}', remedy=error.remedy) from error


def ensure(
    settings: Settings, progress: Progress = silent, spare: Callable[[str, ModelSourceError], bool] | None = None
) -> dict[str, Path]:
    """Fetch every local model that is not here yet. Gives what an engine loads, by name of the model.

    Where one cannot be had, ``spare`` says whether to go on without it; otherwise the reason is raised.
    """
    paths: dict[str, Path] = {}
    for model in local_models(settings):
        try:
            paths[model.name] = fetch(settings, model, progress).path
        except ModelSourceError as error:
            if spare is None or not spare(model.name, error):
                raise
    return paths


def add(settings: Settings, entry: CatalogueEntry, progress: Progress, *, pull: bool) -> CatalogueEntry:
    """Add a model to the catalogue, after fetching it if so asked; its hash then goes into the entry and binds every later fetch.

    Raises ConfigError where the name is taken or a value is out of range, and as ``Store.fetch`` does.
    """
    check_name(entry.name)
    source = Source.typed(entry.source)
    entry = msgspec.structs.replace(entry, source=source.text, sha256=(entry.sha256 or source.sha256).lower())
    try:
        model = as_settings(entry)
    except msgspec.ValidationError as error:
        raise ConfigError(f'model "{entry.name}" cannot be added: {error}', remedy="see antiphon models add --help") from error
    if entry.name in _names_in_use(settings):
        raise ConfigError(f'the name "{entry.name}" is in use in the configuration', remedy="take another name")
    added = catalogue(settings)
    added.check_free(entry.name)
    if pull:
        entry = msgspec.structs.replace(entry, sha256=fetch(settings, model, progress).sha256)
    added.add(entry)
    return entry


def removal(settings: Settings, name: str, *, keep_files: bool = False) -> Removal:
    """What ``remove`` would remove. Raises ModelNotFound, where that is nothing at all and the model is not configured either."""
    entry = any(known.name == name for known in catalogue(settings).all())
    configured = any(model.name == name for model in settings.models)
    stored = next((model for model in store(settings).list() if model.name == name), None)
    stays = str(stored.path) if stored and stored.in_place else ""
    present = is_name(name) and store(settings).holds(name)
    unfinished = is_name(name) and store(settings).unfinished(name)
    if not (entry or configured or present or unfinished):
        raise _not_here(settings, name)
    return Removal(
        name=name,
        entry=entry,
        files=present and not stays and not keep_files,
        unfinished=unfinished and not keep_files,
        configured=configured,
        stays=stays,
    )


def remove(settings: Settings, name: str, *, keep_files: bool) -> Removal:
    """Remove a model that was added, and its files. Of a configured model only the files can be removed. Raises ModelNotFound.

    Of a file that is used where it lies only the record of its hash is removed.
    """
    planned = removal(settings, name, keep_files=keep_files)
    if not keep_files and is_name(name):
        store(settings).remove(name)
    if planned.entry:
        catalogue(settings).remove(name)
    return planned


def overview(settings: Settings) -> tuple[ModelOverview, ...]:
    """Every model that is configured, added or in the store."""
    configured = {model.name for model in settings.models}
    known = local_models(settings)
    rows = [_overview(settings, model, "configured" if model.name in configured else "added") for model in known]
    names = {model.name for model in known}
    others = (model for model in store(settings).list() if model.name not in names)
    rows += [_overview(settings, LocalModelSettings(name=model.name, source=model.source), "cached") for model in others]
    return tuple(rows)


def describe(settings: Settings, name: str) -> ModelDetails:
    """Everything known of one model. Raises ModelNotFound."""
    row = next((row for row in overview(settings) if row.name == name), None)
    if row is None:
        raise _not_here(settings, name)
    stored = next((model for model in store(settings).list() if model.name == name), None)
    options = next((model for model in local_models(settings) if model.name == name), None)
    damage = stored.damage() if stored else ""
    gguf = None
    if stored and not damage and stored.path.suffix.lower() == ".gguf":
        try:
            gguf = read_gguf(stored.path)
        except ModelSourceError as error:
            damage = error.message
    return ModelDetails(overview=row, options=options, stored=stored, gguf=gguf, damage=damage)


def verify(settings: Settings, name: str, progress: Progress) -> StoredModel:
    """Hash the model's files again. Raises ChecksumMismatch or ModelSourceError."""
    return store(settings).verify(name, progress)


def _overview(settings: Settings, model: LocalModelSettings, origin: Origin) -> ModelOverview:
    stored = store(settings).get(model.name)
    state = store(settings).state(model.name)
    if stored and origin != "cached" and not stored.matches(model.source, model.sha256):
        stored, state = None, "not fetched"
    return ModelOverview(
        name=model.name,
        state=state,
        origin=origin,
        source=model.source,
        sha256=stored.sha256 if stored else model.sha256,
        size=stored.size if stored else None,
        path=str(stored.path) if stored else None,
    )


def _names_in_use(settings: Settings) -> set[str]:
    names = {model.name for model in settings.models} | {model.name for row in settings.providers for model in row.models}
    return names | set(settings.aliases) | ({settings.embeddings.name} if settings.embeddings.enabled else set())


def _not_here(settings: Settings, name: str) -> ModelNotFound:
    """The error of a name that is asked for among what is there."""
    there = list(
        dict.fromkeys([*(row.name for row in overview(settings)), *(entry.name for entry in broken_models(settings) if entry.name)])
    )
    near = difflib.get_close_matches(name, there, n=1)
    hint = f'did you mean "{near[0]}"? ' if near else ""
    return ModelNotFound(
        f'there is no model "{name[:200]}" on this machine, neither configured nor added nor fetched',
        remedy=f"{hint}there are: {', '.join(there)}" if there else 'there is none; "antiphon models add NAME SOURCE" adds one',
    )


def _unknown(name: str, known: tuple[LocalModelSettings, ...]) -> ModelNotFound:
    return ModelNotFound(
        f'model "{name[:200]}" is not in the catalogue; known: {", ".join(each.name for each in known) or "none"}',
        remedy='add it with "antiphon models add NAME SOURCE"',
    )


def _from_source(text: str, known: tuple[LocalModelSettings, ...]) -> LocalModelSettings:
    if not (is_marked(text) or os.path.isfile(text)):
        raise _unknown(text, known)
    source = Source.typed(text)
    return LocalModelSettings(name=source.suggested_name(), source=source.text, sha256=source.sha256)
