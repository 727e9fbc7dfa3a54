"""What of the settings a child process is told: what its role works with, and no key of anybody that it does not use.

The workers alone call providers and know callers. Whatever else has their secrets in its memory could lose them, in a crash report
say, or by a model's library.
"""

import msgspec

from antiphon.config import LocalModelSettings, ServerSettings, Settings

UNTOLD = "file:untold"
"""Stands for the source of a model, which may hold a password: its files are in the cache when an engine starts."""


def child_settings(role: str, settings: Settings) -> Settings:
    """The settings as a process of this role is told of them; where it is told nothing, there is the default."""
    whole = settings.server
    ending = ServerSettings(grace=whole.grace)
    serving = ServerSettings(grace=whole.grace, max_body_mb=whole.max_body_mb)
    match role:
        case "worker":
            return settings
        case "engine":
            return Settings(server=serving, models=(), cache_dir=settings.cache_dir)
        case "compute":
            return Settings(
                server=serving,
                models=(),
                embeddings=settings.embeddings,
                guardrails=settings.guardrails,
                cache_dir=settings.cache_dir,
            )
        case "coordinator":
            return Settings(server=ending, models=(), data_dir=settings.data_dir)
        case "control":
            kept = Settings(server=ending, models=(), records=settings.records, audit=settings.audit, data_dir=settings.data_dir)
            return msgspec.structs.replace(kept, limits=settings.limits)
        case _:
            return Settings(server=ending, models=())


def child_model(model: LocalModelSettings | None) -> LocalModelSettings | None:
    """A model as its engine is told of it."""
    return msgspec.structs.replace(model, source=UNTOLD) if model is not None else None
