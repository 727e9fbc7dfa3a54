"""The settings: whether they can be read, who may read and change them, and whether the keys are there."""

import re
import stat
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from antiphon.bootstrap.doctor.subject import Finding, Subject
from antiphon.config import ProviderSettings, Settings
from antiphon.config.consistency import LOOPBACK
from antiphon.config.keys_file import key_rows
from antiphon.core.errors import ConfigError

_OF_A_KEY = re.compile(r"(providers|server\.keys)\[\d+\]\.(key|key_file|headers\..*)")
_CREDENTIAL_HEADERS = {"authorization", "api-key", "x-api-key"}
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def readable(subject: Subject) -> Iterator[Finding]:
    """Whether the settings can be read."""
    for error in subject.errors:
        yield Finding("keys" if _OF_A_KEY.fullmatch(error.key) else "configuration", "error", _placed(error), error.remedy)
    if subject.loaded is None:
        return
    for warning in subject.loaded.warnings:
        yield Finding("configuration", "warning", warning)
    if not subject.errors:
        file = subject.loaded.file
        yield Finding("configuration", "ok", f"{file} can be read" if file else "no file: the defaults are used")


def permissions(subject: Subject) -> Iterator[Finding]:
    """Who else may read a key or change the settings."""
    assert subject.loaded is not None
    file, fine = subject.loaded.file, True
    key_files = (*subject.loaded.secret_files, *_private_keys(subject.settings))
    for path in key_files:
        if mode := _mode(path) & _OTHERS:
            fine = False
            yield _open(path, "holds a key", mode)
    if file is not None:
        mode = _mode(file)
        if subject.loaded.literal_secrets and mode & _OTHERS and not mode & stat.S_IROTH:  # else the settings warn of it
            fine = False
            yield _open(file, "holds a key", mode & _OTHERS)
        if mode & _OTHERS_WRITE:
            fine = False
            what = f"{file} may be changed by other users (mode {mode:o})"
            yield Finding("permissions", "warning", what, f'run "chmod go-w {file}"')
    callers = Path(subject.settings.server.keys_file)
    if subject.settings.server.keys_file and callers.exists() and (mode := _mode(callers)) & _OTHERS_WRITE:
        fine = False
        what = f"{callers} may be changed by other users (mode {mode:o}), who could let themselves in"
        yield Finding("permissions", "warning", what, f'run "chmod go-w {callers}"')
    if fine:
        count = len(key_files)
        yield Finding("permissions", "ok", f"nobody else may change the settings or read the {count} key file(s)" if count else
                      "nobody else may change the settings")  # fmt: skip


def keys(subject: Subject) -> Iterator[Finding]:
    """Whether each provider has its key, and the server some for its callers."""
    assert subject.loaded is not None
    if subject.errors:  # read without keys; what is missing has been told
        return
    for index, provider in enumerate(subject.settings.providers):
        yield _key_of(provider, subject.loaded.origins, index)
    count = len(key_rows(subject.settings.server))
    yield Finding("keys", "ok", f"{count} key(s) for callers" if count else _without_keys(subject.settings))


def _without_keys(settings: Settings) -> str:
    if settings.server.keys_file:
        return f"{settings.server.keys_file} holds no keys for callers yet: nobody may call"
    return "no keys for callers: whoever reaches the port may call"


def _key_of(provider: ProviderSettings, origins: dict[str, str], index: int) -> Finding:
    path = f"providers[{index}].key"
    if provider.key:
        origin = origins.get(path) or origins.get(f"{path}_file") or "the configuration"
        return Finding("keys", "ok", f"provider {provider.name} has its key, from {origin}")
    if any(name.lower() in _CREDENTIAL_HEADERS and value for name, value in provider.headers.items()):
        return Finding("keys", "ok", f"provider {provider.name} has its key among its headers")
    if urlsplit(provider.url).hostname in LOOPBACK:
        return Finding("keys", "ok", f"provider {provider.name} is on this machine and has no key")
    what = f"provider {provider.name} has no key; {urlsplit(provider.url).hostname} may refuse calls without one"
    return Finding("keys", "warning", what, f"set key or key_file of provider {provider.name}, unless it wants none")


def _private_keys(settings: Settings) -> Iterator[Path]:
    """Files with the private keys of certificates."""
    shown = (provider.client_key or provider.client_cert for provider in settings.providers)
    yield from (Path(name) for name in (settings.server.tls_key, *shown) if name)


def _placed(error: ConfigError) -> str:
    return error.place + error.message


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def _open(path: Path, why: str, mode: int) -> Finding:
    who = "every user" if mode & stat.S_IRWXO else "its group"
    return Finding("permissions", "warning", f"{path} {why} and is open to {who}", f'run "chmod 600 {path}"')
