"""Finds the configuration file, reads it under the environment, and checks the whole."""

import logging
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec
import platformdirs
import yaml

from antiphon.config.consistency import Checker
from antiphon.config.document import compose_file, readable_by_all
from antiphon.config.environment import overlay
from antiphon.config.network import PROVIDER_FILES, SERVER_FILES
from antiphon.config.problems import Place, raise_all
from antiphon.config.reader import INVALID, Reader
from antiphon.config.schema import struct_type
from antiphon.config.settings import DEFAULT_MODEL, Settings
from antiphon.core.errors import ConfigError

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
) -> Loaded:
    """The settings with their origins and warnings. Raises ConfigError, with several errors inside where there are several.

    ``known`` gives the names of models that aliases may lead to though they are not in the settings. Without ``secrets`` all keys
    and header values are empty: for who does not need them and perhaps may not have them.
    """
    environ = os.environ if environ is None else environ
    file = find_file(path, environ)
    root = (compose_file(file) if file else None) or yaml.MappingNode("tag:yaml.org,2002:map", [])
    folder = (file.parent if file else Path()).resolve()
    reader = Reader(environ, folder, secrets=secrets)
    root = overlay(root, environ, reader.errors)
    settings = reader.read(root, struct_type(Settings), "")
    raise_all(reader.errors)
    if settings is INVALID:
        raise ConfigError("the configuration is not valid")
    settings = _completed(settings, reader.places, folder)
    checker = Checker(settings, reader.places, frozenset(known(settings)) if known else frozenset())
    raise_all(checker.errors())
    if secrets:
        raise_all(checker.file_errors())
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


def _completed(settings: Settings, places: Mapping[str, Place], folder: Path) -> Settings:
    """Paths made absolute, and the default model left out where the user has chosen providers instead."""
    models = () if "providers" in places and "models" not in places and settings.models == (DEFAULT_MODEL,) else settings.models
    return msgspec.structs.replace(
        settings,
        models=models,
        server=_with_paths(settings.server, "server", SERVER_FILES, places, folder),
        providers=tuple(
            _with_paths(provider, f"providers[{index}]", PROVIDER_FILES, places, folder)
            for index, provider in enumerate(settings.providers)
        ),
        data_dir=_absolute("data_dir", settings.data_dir, places.get("data_dir"), folder),
        cache_dir=_absolute("cache_dir", settings.cache_dir, places.get("cache_dir"), folder),
    )


def _with_paths(struct: Kind, path: str, fields: tuple[str, ...], places: Mapping[str, Place], folder: Path) -> Kind:
    """A struct of settings with the paths in these fields made absolute; empty ones stay empty."""
    keys = {field: f"{path}.{field}" for field in fields if getattr(struct, field)}
    changed = {field: _absolute(key, getattr(struct, field), places.get(key), folder) for field, key in keys.items()}
    return msgspec.structs.replace(struct, **changed) if changed else struct


def _absolute(key: str, path: str, place: Place | None, folder: Path) -> str:
    """A path of the file starts from the file's folder, one of a variable from the working folder. Raises ConfigError."""
    start = Path.cwd() if place is None or place.variable else folder
    try:
        return str(start / Path(path).expanduser())
    except RuntimeError:  # ~ of a user that there is not
        raise (place or Place()).error(
            f'{key} is "{path}", and there is no such user', remedy="write the path in full", key=key
        ) from None
