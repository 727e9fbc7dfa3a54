"""What the settings say of the models on this machine, and what of it is seen to be wrong without the network."""

from collections.abc import Iterator

from antiphon.config.network import Report
from antiphon.config.settings import BUILT_IN_MODELS, LocalModelSettings, Settings
from antiphon.core.errors import ConfigError, ModelSourceError
from antiphon.execution.engines import ENGINES
from antiphon.registry.sources import Source
from antiphon.registry.store import Store

THIS_MACHINE = "antiphon"
"""Stands as provider for the models that run here."""


def unknown_parts(settings: Settings, report: Report) -> Iterator[ConfigError]:
    """Sources and engines that there are none of. No file is looked at."""
    for path, model in _own(settings):
        try:
            Source.parse(model.source)
        except ModelSourceError as error:
            yield report(f"{path}.source", f'model "{model.name}": {error.message}', error.remedy)
        if model.engine and model.engine not in (engines := ENGINES.names()):
            what = f'model "{model.name}": engine "{model.engine}" is not known'
            yield report(f"{path}.engine", what, f"known: {', '.join(engines)}")


def file_errors(settings: Settings, report: Report) -> Iterator[ConfigError]:
    """Files of this machine that no model can be had from. A model that was fetched before needs them no more."""
    store = Store(settings.cache_dir)
    for path, model in _own(settings):
        try:
            Source.parse(model.source)
        except ModelSourceError:  # told with the unknown parts
            continue
        try:
            store.check(model.name, model.source, model.sha256)
        except ModelSourceError as error:
            yield report(f"{path}.source", f'model "{model.name}": {error.message}', error.remedy)


def _own(settings: Settings) -> Iterator[tuple[str, LocalModelSettings]]:
    """The models that the user has described, as far as they could be read."""
    built_in = BUILT_IN_MODELS.values()
    for index, model in enumerate(settings.models):
        if model.name and model.source and model not in built_in:
            yield f"models[{index}]", model
