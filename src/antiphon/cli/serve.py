"""``antiphon serve``: fetch what is missing, then run the server in the foreground."""

import logging
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from antiphon import __version__
from antiphon.bootstrap.models import broken_models, ensure, local_models
from antiphon.bootstrap.process import configure_logging
from antiphon.cli.models import RichProgress
from antiphon.cli.options import takes
from antiphon.cli.output import tell, warn
from antiphon.cli.settings import load_settings
from antiphon.cli.status import StatusLines
from antiphon.config import DegradeSettings, EmbeddingSettings, Loaded, RouteSettings, Settings
from antiphon.config.local_models import THIS_MACHINE
from antiphon.core.errors import ModelSourceError
from antiphon.registry.progress import Progress, silent
from antiphon.supervisor import Supervisor
from antiphon.supervisor.hangup import Hangup
from antiphon.supervisor.sockets import PublicSockets

app = typer.Typer()


class ServeOptions(msgspec.Struct, frozen=True):
    """Parameters of the command."""

    config: Annotated[Path | None, typer.Option("--config", "-c", help="Configuration file.")] = None
    host: Annotated[str | None, typer.Option("--host", help="Address to listen on.")] = None
    port: Annotated[int | None, typer.Option("--port", "-p", min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = (
        None
    )
    workers: Annotated[int | None, typer.Option("--workers", "-w", min=1, max=256, help="Data-plane processes.")] = None
    no_local: Annotated[bool, typer.Option("--no-local", help="Serve the providers only: no model on this machine.")] = False
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Tell of every process, and log what the supervisor does.")] = (
        False
    )


@app.command()
@takes(ServeOptions)
def serve(options: ServeOptions) -> None:
    """Run the server until Ctrl-C. SIGHUP reads the configuration again."""
    hangup = Hangup()
    _set_up_log(verbose=options.verbose)
    loaded = _load(options)
    tell(f"antiphon {__version__}, {f'configured by {loaded.file}' if loaded.file else 'without a configuration file'}")
    for warning in loaded.warnings:
        warn(warning)
    settings = loaded.settings
    PublicSockets(settings.server.host, settings.server.port).close()  # a busy port is told before anything is downloaded
    with RichProgress() as progress:
        settings, paths = _fetched(options, loaded, progress)

    # the file that was found at the start is asked for from now on: without it everything would go back to the defaults
    again = msgspec.structs.replace(options, config=options.config or loaded.file)

    def reload() -> tuple[Settings, Mapping[str, str]]:
        return _fetched(again, _load(again), silent)

    Supervisor(settings, paths, reload=reload, notify=StatusLines(settings, verbose=options.verbose), hangup=hangup).run()


def _load(options: ServeOptions) -> Loaded:
    """The settings with the command's options over them. Models that were added to the catalogue are not in them yet."""
    values = {"HOST": options.host, "PORT": options.port, "WORKERS": options.workers}
    overrides = {f"ANTIPHON_SERVER__{name}": str(value) for name, value in values.items() if value is not None}
    loaded = load_settings(options.config, overrides, model_files=not options.no_local)
    if options.no_local:
        return msgspec.structs.replace(loaded, settings=without_local(loaded.settings))
    return loaded


def without_local(settings: Settings) -> Settings:
    """The settings without what runs on this machine, and without the aliases that lead only there."""
    known = {model.name for provider in settings.providers for model in provider.models}
    aliases = settings.aliases
    while True:
        kept = {
            alias: tuple(target for target in targets if target in known | aliases.keys()) for alias, targets in aliases.items()
        }
        kept = {alias: targets for alias, targets in kept.items() if targets}
        if kept == aliases:
            break
        aliases = kept
    return msgspec.structs.replace(settings, models=(), embeddings=EmbeddingSettings(enabled=False), aliases=aliases)


def _fetched(options: ServeOptions, loaded: Loaded, progress: Progress) -> tuple[Settings, dict[str, str]]:
    if options.no_local:
        return loaded.settings, {}
    settings, paths, warnings = with_local(loaded.settings, progress, loaded.origins)
    for warning in warnings:
        warn(warning)
    return settings, paths


def with_local(
    settings: Settings, progress: Progress, origins: Mapping[str, str] | None = None
) -> tuple[Settings, dict[str, str], tuple[str, ...]]:
    """The settings with the models that were added to the catalogue, where the files of each local model are, and warnings.

    Missing files are fetched first. An added model that is broken or cannot be had is left out, with a warning: one bad entry must
    not stop everything else. A model of the configuration that cannot be had raises ModelSourceError, which names the place that
    ``origins`` give for it.
    """
    configured = {model.name: _origin(index, origins or {}) for index, model in enumerate(settings.models)}
    faults = {entry.name: entry.reason for entry in broken_models(settings)}

    def spare(name: str, error: ModelSourceError) -> bool:
        if name in configured:
            raise type(error)(configured[name] + error.message, remedy=error.remedy) from error
        faults[name] = str(error)
        return True

    paths = {name: str(path) for name, path in ensure(settings, progress, spare).items()}
    models = tuple(model for model in local_models(settings) if model.name in paths)
    warnings = tuple(_left_out(name[:200], reason) for name, reason in faults.items())
    return without_targets(msgspec.structs.replace(settings, models=models), faults.keys() - configured.keys()), paths, warnings


def _origin(index: int, origins: Mapping[str, str]) -> str:
    """Where a model was configured, as the beginning of a message; empty where nobody wrote it."""
    origin = origins.get(f"models[{index}].source") or origins.get(f"models[{index}]")
    return f"{origin}: " if origin else ""


def _left_out(name: str, reason: str) -> str:
    if not name:
        return f"an added model without a name is left out: {reason}; correct models.json in the data folder"
    return f'the added model "{name}" is left out: {reason}; "antiphon models rm {name}" removes it'


def without_targets(settings: Settings, names: Collection[str]) -> Settings:
    """The settings without what leads only to these models of this machine: aliases, links of their chains, lighter models."""
    gone = {*names, *(f"{THIS_MACHINE}/{name}" for name in names)}
    aliases = settings.aliases
    while True:
        kept = {alias: tuple(target for target in targets if target not in gone) for alias, targets in aliases.items()}
        empty = {alias for alias, targets in kept.items() if not targets}
        aliases = {alias: targets for alias, targets in kept.items() if targets}
        if not empty:
            return msgspec.structs.replace(
                settings, aliases=aliases, routes=tuple(_without(route, gone) for route in settings.routes)
            )
        gone |= empty


def _without(route: RouteSettings, gone: Collection[str]) -> RouteSettings:
    """The route, which no longer degrades to a model that is not there."""
    if route.degrade.model not in gone:
        return route
    degrade = msgspec.structs.replace(route.degrade, model="")
    return msgspec.structs.replace(route, degrade=degrade if degrade.template else DegradeSettings())


def _set_up_log(*, verbose: bool) -> None:
    configure_logging("supervisor")
    if not verbose:
        logging.getLogger().setLevel(logging.WARNING)
        # what a keeper logs is told as a notice too
        logging.getLogger("antiphon.supervisor.keeper").setLevel(logging.CRITICAL)
