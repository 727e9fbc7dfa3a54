"""``antiphon serve``: fetch what is missing, then run the server in the foreground."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from antiphon import __version__
from antiphon.bootstrap.models import ensure, local_models
from antiphon.bootstrap.process import configure_logging
from antiphon.cli.models import RichProgress
from antiphon.cli.options import takes
from antiphon.cli.output import tell, warn
from antiphon.cli.settings import load_settings
from antiphon.cli.status import StatusLines
from antiphon.config import EmbeddingSettings, Loaded, Settings
from antiphon.registry.progress import Progress, silent
from antiphon.supervisor import Supervisor
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
    _set_up_log(verbose=options.verbose)
    loaded = _load(options)
    settings = loaded.settings
    tell(f"antiphon {__version__}, {f'configured by {loaded.file}' if loaded.file else 'without a configuration file'}")
    for warning in loaded.warnings:
        warn(warning)
    PublicSockets(settings.server.host, settings.server.port).close()  # a busy port is told before anything is downloaded
    with RichProgress() as progress:
        paths = _fetch(settings, progress)

    def reload() -> tuple[Settings, Mapping[str, str]]:
        fresh = _load(options).settings
        return fresh, _fetch(fresh, silent)

    Supervisor(settings, paths, reload=reload, notify=StatusLines(settings, verbose=options.verbose)).run()


def _load(options: ServeOptions) -> Loaded:
    """The settings with the command's options over them, and with the models that were added to the catalogue."""
    values = {"HOST": options.host, "PORT": options.port, "WORKERS": options.workers}
    overrides = {f"ANTIPHON_SERVER__{name}": str(value) for name, value in values.items() if value is not None}
    loaded = load_settings(options.config, overrides)
    if options.no_local:
        return msgspec.structs.replace(loaded, settings=without_local(loaded.settings))
    settings = msgspec.structs.replace(loaded.settings, models=local_models(loaded.settings))
    return msgspec.structs.replace(loaded, settings=settings)


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


def _fetch(settings: Settings, progress: Progress) -> dict[str, str]:
    """Where the files of each local model are, once they are here."""
    return {name: str(path) for name, path in ensure(settings, progress).items()} if settings.models else {}


def _set_up_log(*, verbose: bool) -> None:
    configure_logging("supervisor")
    if not verbose:
        logging.getLogger().setLevel(logging.WARNING)
        # what a keeper logs is told as a notice too
        logging.getLogger("antiphon.supervisor.keeper").setLevel(logging.CRITICAL)
