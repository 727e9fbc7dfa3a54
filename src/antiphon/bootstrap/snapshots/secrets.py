"""What of the settings must not lie on a disk: it travels beside a snapshot, over a child's standard input."""

import re
from typing import TypeVar

import msgspec

from antiphon.config import MASK, LocalModelSettings, ProviderSettings, Secret, Settings

_CREDENTIALS = re.compile(r"://[^/]*@|\?")
"""What an address looks like that holds a password, or may hold a key in its query."""
_HIDDEN = "file:hidden"
"""Stands for such an address in a snapshot."""

Row = TypeVar("Row", bound=msgspec.Struct)


class ProviderSecrets(msgspec.Struct, frozen=True):
    """What is secret of a provider."""

    key: Secret
    headers: dict[str, str]
    proxy: str


class ModelSecrets(msgspec.Struct, frozen=True):
    """What may be secret of a model on this machine."""

    source: str
    adapters: dict[str, str]


class Secrets(msgspec.Struct, frozen=True):
    """What is secret in some settings, by the names of providers and models. The callers' keys are not here: digests will do."""

    providers: dict[str, ProviderSecrets] = {}
    models: dict[str, ModelSecrets] = {}

    def __repr__(self) -> str:
        return MASK


def split(settings: Settings) -> tuple[Settings, Secrets]:
    """Settings without anything secret, and what is secret of providers and models.

    The callers' keys are told by their digests, and the database of the records is nothing to a worker.
    """
    providers = {row.name: ProviderSecrets(row.key, row.headers, row.proxy) for row in settings.providers if _is_secret(row)}
    models = {row.name: ModelSecrets(row.source, row.adapters) for row in settings.models if _may_be_secret(row)}
    public = msgspec.structs.replace(
        settings,
        server=msgspec.structs.replace(settings.server, keys=()),
        records=msgspec.structs.replace(settings.records, url=Secret()),
        providers=tuple(
            msgspec.structs.replace(row, key=Secret(), headers={}, proxy="none") if row.name in providers else row
            for row in settings.providers
        ),
        models=tuple(
            msgspec.structs.replace(row, source=_HIDDEN, adapters={}) if row.name in models else row for row in settings.models
        ),
    )
    return public, Secrets(providers, models)


def join(public: Settings, secrets: Secrets) -> Settings:
    """The reverse of ``split``, but for the callers' keys."""
    return msgspec.structs.replace(
        public,
        providers=tuple(_with_fields(row, secrets.providers.get(row.name)) for row in public.providers),
        models=tuple(_with_fields(row, secrets.models.get(row.name)) for row in public.models),
    )


def _with_fields(row: Row, secret: msgspec.Struct | None) -> Row:
    return row if secret is None else msgspec.structs.replace(row, **msgspec.structs.asdict(secret))


def _is_secret(row: ProviderSettings) -> bool:
    return bool(row.key or row.headers) or "@" in row.proxy


def _may_be_secret(row: LocalModelSettings) -> bool:
    return any(_CREDENTIALS.search(address) for address in (row.source, *row.adapters.values()))
