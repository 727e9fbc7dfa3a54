"""Finds the configuration file, reads it under the environment, and checks the whole."""

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec
import platformdirs
import yaml

from antiphon.config.consistency import Checker
from antiphon.config.document import compose_file, readable_by_all
from antiphon.config.environment import overlay
from antiphon.config.network import AUDIT_FILES, PROVIDER_FILES, SERVER_FILES
from antiphon.config.problems import Place, raise_all
from antiphon.config.reader import INVALID, Reader
from antiphon.config.schema import struct_type
from antiphon.config.settings import DEFAULT_MODEL, ProviderSettings, Settings
from antiphon.core.errors import AntiphonError, ConfigError
from antiphon.execution.providers import PROVIDERS, ProviderPlugin

FILE_VARIABLE = "ANTIPHON_CONFIG"
FILE_NAME = "antiphon.yaml"
MISSPELT = "antiphon.yml"

log = logging.getLogger(__name__)

Kind = TypeVar("Kind", bound=msgspec.Struct)


class Loaded(msgspec.Struct, frozen=True):
    """Settings and where they came from."""

    settings: Settings
    file: Path | None
    """The file that was read; None where there was none."""
    origins: dict[str, str]
    """Dotted path of each setting that was written, and the file and line or variable that it came from."""
    warnings: tuple[str, ...]
    """What is allowed but unwise."""
    literal_secrets: tuple[str, ...] = ()
    """Dotted paths of secrets that stand in the file in clear text."""
    secret_files: tuple[Path, ...] = ()
    """Files that secrets were read from."""


def find_file(path: Path | None, environ: Mapping[str, str]) -> Path | None:
    """The configuration file: the one asked for, ``$ANTIPHON_CONFIG``, ``./antiphon.yaml``, or the one in the user's folder.

    Raises ConfigError where one that was asked for is not there; None where nobody asked and there is none.
    """
    if path is not None:
        return path
    if environ.get(FILE_VARIABLE):
        named = Path(environ[FILE_VARIABLE]).expanduser()
        if not named.exists():
            raise ConfigError(f"{FILE_VARIABLE} names a file that does not exist: {named}", remedy="correct it, or unset it")
        return named
    candidates = (Path(FILE_NAME), Path(platformdirs.user_config_dir("antiphon", appauthor=False)) / FILE_NAME)
    return next((candidate for candidate in candidates if candidate.exists()), None)


def load_with_origins(
    path: Path | None = None,
    environ: Mapping[str, str] | None = None,
    known: Callable[[Settings], Iterable[str]] | None = None,
    *,
    secrets: bool = True,
    model_files: bool = False,
) -> Loaded:
    """The settings with their origins and warnings. Raises ConfigError, with several errors inside where there are several.

    ``known`` gives the names of models that aliases may lead to though they are not in the settings. Without ``secrets`` all keys
    and header values are empty: for who does not need them and perhaps may not have them. With ``model_files`` the files of models
    that are on this machine are looked at too: for who is about to run them.
    """
    environ = os.environ if environ is None else environ
    file = find_file(path, environ)
    root = (compose_file(file) if file else None) or yaml.MappingNode("tag:yaml.org,2002:map", [])
    folder = (file.parent if file else Path()).resolve()
    reader = Reader(environ, folder, secrets=secrets)
    root = overlay(root, environ, reader.errors)
    settings = reader.read(root, struct_type(Settings), "")
    if settings is INVALID:
        raise_all(reader.errors)
    settings = _completed(settings, _Paths(reader.places, folder, reader.errors))
    if secrets:
        reader.errors += _no_folders(settings, reader.places)
    try:
        names = frozenset(known(settings)) if known else frozenset()
    except AntiphonError:
        raise_all(reader.errors)
        raise
    checker = Checker(settings, reader.places, names, frozenset(reader.unread))
    errors = [*reader.errors, *checker.errors()]
    if secrets:
        errors += [*checker.file_errors(), *checker.proxy_errors(environ)]
    if model_files:
        errors += checker.model_file_errors()
    raise_all(errors)
    warnings = list(checker.warnings(reader.literal_secrets))
    if file and reader.literal_secrets and readable_by_all(file):
        warnings.append(f'{file} holds a key and every user of this machine can read it; run "chmod 600 {file}"')
    if file is None and Path(MISSPELT).exists():
        warnings.append(f"{MISSPELT} is not read; rename it to {FILE_NAME}, or name it with --config")
    origins = {path: str(place) for path, place in reader.places.items() if path and (place.file or place.variable)}
    return Loaded(settings, file, origins, tuple(warnings), tuple(reader.literal_secrets), tuple(reader.secret_files))


def load(
    path: Path | None = None,
    environ: Mapping[str, str] | None = None,
    known: Callable[[Settings], Iterable[str]] | None = None,
    *,
    secrets: bool = True,
) -> Settings:
    """The settings. What is allowed but unwise goes to the log. Arguments and errors as of :func:`load_with_origins`."""
    loaded = load_with_origins(path, environ, known, secrets=secrets)
    for warning in loaded.warnings:
        log.warning("%s", warning)
    return loaded.settings


class _Paths(msgspec.Struct, frozen=True):
    """Makes paths absolute: one of the file starts from the file's folder, one of a variable from the working folder."""

    places: Mapping[str, Place]
    folder: Path
    errors: list[ConfigError]
    """Where it notes what is wrong with a path."""

    def absolute(self, key: str, path: str) -> str:
        """The path of a setting; left as it is where there is no such user."""
        place = self.places.get(key)
        start = Path.cwd() if place is None or place.variable else self.folder
        try:
            return str(start / Path(path).expanduser())
        except RuntimeError:
            what = f'{key} is "{path}", and there is no such user'
            self.errors.append((place or Place()).error(what, remedy="write the path in full", key=key))
            return path

    def source(self, key: str, source: str) -> str:
        """Where a model comes from; left as it is unless that is a relative path."""
        kind, _, address = source.partition(":")
        return f"file:{self.absolute(key, address)}" if kind == "file" and address and not address.startswith("/") else source

    def within(self, struct: Kind, path: str, fields: tuple[str, ...]) -> Kind:
        """A struct of settings with the paths in these fields made absolute; empty ones stay empty."""
        given = [field for field in fields if getattr(struct, field)]
        changed = {field: self.absolute(f"{path}.{field}", getattr(struct, field)) for field in given}
        return msgspec.structs.replace(struct, **changed) if changed else struct


def _no_folders(settings: Settings, places: Mapping[str, Place]) -> Iterator[ConfigError]:
    """Of the folders that the server writes to, those that cannot be made because a file is in the way."""
    for key in ("data_dir", "cache_dir"):
        folder = Path(getattr(settings, key))
        there = next((path for path in (folder, *folder.parents) if os.path.lexists(path)), folder)
        if os.path.lexists(there) and not there.is_dir():
            what = f"{key} is {folder}, and {'it' if there == folder else there} is no folder"
            yield places.get(key, Place()).error(what, remedy=f"name another {key}, or move that file away", key=key)


def _completed(settings: Settings, paths: _Paths) -> Settings:
    """Paths made absolute, vendors at their usual address, and no default model where the user has chosen providers instead."""
    chosen = "providers" in paths.places and "models" not in paths.places
    return msgspec.structs.replace(
        settings,
        models=()
        if chosen and settings.models == (DEFAULT_MODEL,)
        else tuple(
            msgspec.structs.replace(model, source=paths.source(f"models[{index}].source", model.source))
            for index, model in enumerate(settings.models)
        ),
        server=paths.within(settings.server, "server", SERVER_FILES),
        audit=paths.within(settings.audit, "audit", AUDIT_FILES),
        providers=tuple(
            _addressed(paths.within(provider, f"providers[{index}]", PROVIDER_FILES), f"providers[{index}].url" in paths.places)
            for index, provider in enumerate(settings.providers)
        ),
        data_dir=paths.absolute("data_dir", settings.data_dir),
        cache_dir=paths.absolute("cache_dir", settings.cache_dir),
    )


def _addressed(row: ProviderSettings, written: bool) -> ProviderSettings:
    """A row with the address of its vendor, where none was written."""
    if written or row.protocol not in PROVIDERS.names():
        return row
    try:
        plugin: ProviderPlugin = PROVIDERS.load(row.protocol)
    except ConfigError:
        return row  # the check of the whole tells why
    return msgspec.structs.replace(row, url=plugin.url)
