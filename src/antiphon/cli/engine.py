"""``antiphon engine``: serve one local model in the foreground, without the rest."""

import asyncio
import signal
from pathlib import Path
from typing import Annotated

import msgspec
import typer
import uvloop

from antiphon.bootstrap.engine import Serving, loader, sampling_defaults, serve_engine
from antiphon.bootstrap.models import fetch, resolve
from antiphon.bootstrap.process import configure_logging
from antiphon.cli.models import RichProgress
from antiphon.cli.options import takes
from antiphon.cli.output import tell
from antiphon.cli.settings import load_settings
from antiphon.config import LocalModelSettings
from antiphon.core.errors import ConfigError
from antiphon.transport.listeners import tcp_listener
from antiphon.transport.server import ServerLimits

app = typer.Typer()

LOOPBACK = "127.0.0.1"


class EngineCommand(msgspec.Struct, frozen=True):
    """Parameters of the command."""

    model: Annotated[
        str, typer.Argument(help="Name of a model, a source (pypi:, hf:, https:, file:) or a path.", show_default=False)
    ]
    port: Annotated[int, typer.Option("--port", "-p", min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8081
    host: Annotated[
        str, typer.Option("--host", help="Address to listen on. There are no keys here: whoever reaches it may call.")
    ] = LOOPBACK
    name: Annotated[str, typer.Option("--name", help="Name that callers use; by default the model's own.")] = ""
    engine: Annotated[str | None, typer.Option("--engine", help="Engine that runs it.")] = None
    threads: Annotated[int | None, typer.Option("--threads", min=0, help="Threads that compute; 0 takes the cores.")] = None
    context: Annotated[
        int | None, typer.Option("--context", min=0, help="Longest prompt and answer, in tokens; 0: the model's.")
    ] = None
    kv_cache_mb: Annotated[int | None, typer.Option("--kv-cache-mb", min=1, help="Memory for the key-value cache, in MiB.")] = None
    max_running: Annotated[int | None, typer.Option("--max-running", min=1, help="Sequences decoded at once.")] = None
    max_waiting: Annotated[int | None, typer.Option("--max-waiting", min=0, help="Calls that may wait for a place.")] = None
    precision: Annotated[str | None, typer.Option("--precision", help="Precision of the weights as the engine names it.")] = None
    adapter: Annotated[list[str] | None, typer.Option("--adapter", help="LoRA adapter, NAME=PATH. May be repeated.")] = None
    grace: Annotated[float, typer.Option("--grace", min=0, help="Seconds that running calls get when it is stopped.")] = 10.0
    config: Annotated[Path | None, typer.Option("--config", "-c", help="Configuration file.")] = None


@app.command()
@takes(EngineCommand)
def engine(options: EngineCommand) -> None:
    """Serve one model of this machine over HTTP, without gateway and supervisor, until Ctrl-C."""
    configure_logging("engine")
    settings = load_settings(options.config, secrets=False).settings
    model, _ = resolve(settings, options.model)
    listener = tcp_listener(options.host, options.port)
    with listener:
        with RichProgress() as progress:
            path = str(fetch(settings, model, progress).path)
        model = customised(model, options)
        load = loader(model, path, settings.cache_dir)
        address = f"http://{_shown(options.host)}:{listener.getsockname()[1]}/v1"

        async def main() -> None:
            stopping = asyncio.Event()
            for number in (signal.SIGINT, signal.SIGTERM):
                asyncio.get_running_loop().add_signal_handler(number, stopping.set)
            serving = Serving(
                listener=listener,
                stopping=stopping,
                grace=options.grace,
                loading=tell,
                ready=lambda: tell(f"{model.name} is served at {address}"),
                limits=ServerLimits(max_body_bytes=settings.server.max_body_mb << 20),
                defaults=sampling_defaults(model),
            )
            await serve_engine(model.name, load, serving)

        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(main())


def customised(model: LocalModelSettings, options: EngineCommand) -> LocalModelSettings:
    """The model's settings with the command's options over them. Raises ConfigError where an adapter is not ``NAME=PATH``."""
    names = ("engine", "threads", "context", "kv_cache_mb", "max_running", "max_waiting", "precision")
    given = {name: value for name in names if (value := getattr(options, name)) is not None}
    adapters = dict(model.adapters)
    for text in options.adapter or ():
        name, equals, path = text.partition("=")
        if not (name and equals and path):
            raise ConfigError(
                f'the adapter "{text}" is not NAME=PATH', remedy="give, for example, --adapter polite=./polite.safetensors"
            )
        adapters[name] = path
    return msgspec.structs.replace(model, name=options.name or model.name, adapters=adapters, **given)


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host
