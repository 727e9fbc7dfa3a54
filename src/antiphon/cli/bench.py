"""``antiphon bench``: a quick look at how fast a server answers."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import msgspec
import typer
import uvloop

from antiphon.bootstrap.address import own_url
from antiphon.cli.bench_figures import NEEDED, Level, Percentiles
from antiphon.cli.bench_load import TIMEOUT, Bench, Bounds, Target
from antiphon.cli.chat_client import ChatClient
from antiphon.cli.options import takes
from antiphon.cli.output import EXIT_ERROR, EXIT_INTERRUPTED, print_json, tell
from antiphon.cli.settings import load_settings
from antiphon.transport.client import Origin, Route
from antiphon.transport.proxies import from_environment
from antiphon.transport.tls import TlsOptions

app = typer.Typer()

MAX_LEVELS = 10
MAX_CALLERS = 1024
BUSY = 0.7
"""Cores that the bench itself may keep busy before its figures are in doubt."""


class BenchOptions(msgspec.Struct, frozen=True):
    """Parameters of the command."""

    url: Annotated[
        str | None, typer.Option("--url", envvar="ANTIPHON_URL", help="Server; by default the one of the configuration.")
    ] = None
    model: Annotated[str | None, typer.Option("--model", "-m", help="Model; by default the server's first.")] = None
    api_key: Annotated[
        str, typer.Option("--api-key", envvar="ANTIPHON_API_KEY", help="API key. Other users can see a key on the command line.")
    ] = ""
    concurrency: Annotated[str, typer.Option("--concurrency", help="Callers at once, one after another: 1,8,32.")] = "1,8,32"
    requests: Annotated[int, typer.Option("--requests", min=1, max=1_000_000, help="Calls at most, for each of these.")] = 1000
    seconds: Annotated[float, typer.Option("--seconds", min=0.1, max=3600, help="Seconds at most, for each of these.")] = 10.0
    timeout: Annotated[
        float, typer.Option("--timeout", min=0.1, max=3600, help="Seconds that a call may take; then it is cut.")
    ] = TIMEOUT
    stream: Annotated[bool, typer.Option("--stream/--no-stream", help="Have the answers streamed.")] = True
    prompt_tokens: Annotated[int, typer.Option("--prompt-tokens", min=1, max=100_000, help="Length of a prompt, roughly.")] = 64
    max_tokens: Annotated[int, typer.Option("--max-tokens", min=1, max=100_000, help="Longest answer, in tokens.")] = 64
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False
    config: Annotated[Path | None, typer.Option("--config", "-c", help="Configuration file.")] = None


class Report(msgspec.Struct, frozen=True):
    """Everything that was measured."""

    url: str
    model: str
    stream: bool
    prompt_tokens: int
    max_tokens: int
    interrupted: bool
    levels: tuple[Level, ...]


@app.command()
@takes(BenchOptions)
def bench(options: BenchOptions) -> None:
    """Measure how fast a server answers: calls and tokens a second, time to first token and between tokens, errors.

    Each number of callers takes --seconds, and at most --timeout more for the calls that still run then.
    It sends real calls, which a provider may charge for. Ctrl-C ends it and shows what there is.
    """
    levels = _levels(options.concurrency)
    settings = load_settings(options.config, secrets=False).settings
    client = ChatClient(options.url or own_url(settings.server), options.api_key)
    target = _target(options, client, options.model or client.first_chat_model())
    address = f"{client.url}{client.base}"
    if not options.json:
        typer.echo(_title(target, address))
    shown = None if options.json else _echo
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        bounds = Bounds(options.requests, options.seconds, options.timeout)
        measured, interrupted = runner.run(_measure(target, levels, bounds, shown))
    if options.json:
        print_json(Report(address, target.model, options.stream, options.prompt_tokens, options.max_tokens, interrupted, measured))
    if interrupted:
        tell("interrupted: these figures are of what had been answered by then")
        sys.exit(EXIT_INTERRUPTED)
    if not any(level.calls for level in measured):
        sys.exit(EXIT_ERROR)


async def _measure(
    target: Target, levels: list[int], bounds: Bounds, show: Callable[[Level], None] | None
) -> tuple[tuple[Level, ...], bool]:
    """Each level's figures, and whether the user broke off."""
    load = Bench(target)
    measured = []
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, load.stop)
    await load.warm_up(bounds.timeout)
    for concurrency in levels:
        if load.stopped:
            break
        level = await load.level(concurrency, bounds)
        measured.append(level)
        if show is not None:
            show(level)
    return tuple(measured), load.stopped


def _target(options: BenchOptions, client: ChatClient, model: str) -> Target:
    origin = Origin.parse(client.url)
    key = ((b"authorization", b"Bearer " + options.api_key.encode()),) if options.api_key else ()
    return Target(
        origin=origin,
        path=f"{client.base}/chat/completions",
        headers=((b"content-type", b"application/json"), *key),
        model=model,
        stream=options.stream,
        prompt_tokens=options.prompt_tokens,
        max_tokens=options.max_tokens,
        route=Route(TlsOptions(), from_environment(os.environ, origin)),
    )


def _levels(text: str) -> list[int]:
    """The levels of ``--concurrency``. Raises BadParameter where one is no number in the range."""
    levels = []
    for part in text.split(","):
        with contextlib.suppress(ValueError):
            levels.append(int(part))
    if len(levels) != text.count(",") + 1 or len(levels) > MAX_LEVELS or not all(1 <= level <= MAX_CALLERS for level in levels):
        what = f"--concurrency takes up to {MAX_LEVELS} numbers from 1 to {MAX_CALLERS}, such as 1,8,32; not {text}"
        raise typer.BadParameter(what)
    return levels


def _title(target: Target, address: str) -> str:
    how = "streamed" if target.stream else "in one piece"
    return (
        f"{target.model} at {address}, {how}\n"
        f"prompts of about {target.prompt_tokens} tokens, none like another; answers of at most {target.max_tokens}"
    )


def _echo(level: Level) -> None:
    for line in lines(level):
        typer.echo(line)


def lines(level: Level) -> Iterator[str]:
    """A level for people, in at most 80 columns."""
    yield ""
    yield (
        f"{level.concurrency} at once: {level.calls} calls in {level.seconds:.1f} s,"
        f" {level.calls_per_second:.2f} calls/s, {level.tokens_per_second:.1f} tokens/s"
    )
    rows = [
        f"  {name:22}{_shown(at.p50)}{_shown(at.p95)}{_shown(at.p99)}"
        for name, at in (("time to first token", level.ttft), ("between tokens", level.between_tokens), ("whole call", level.whole))
        if at.samples
    ]
    if rows:
        yield f"{'':24}{'P50':>12}{'P95':>12}{'P99':>12}"
        yield from rows
    if level.output_tokens is not None:
        prompt = "" if level.prompt_tokens is None else f"prompts of {level.prompt_tokens:.0f} tokens, "
        yield f"  {prompt}answers of {level.output_tokens:.0f} on average"
    yield from _doubts(level)


def _doubts(level: Level) -> Iterator[str]:
    for kind, count in level.errors.items():
        yield f"  failed: {count} x {kind}"
    if level.unfinished:
        yield f"  {level.unfinished} calls were cut before they were complete"
    if level.tokens_by_event:
        yield f"  the server told no usage for {level.tokens_by_event} calls: events were counted as tokens"
    if level.own_cpu > BUSY:
        yield f"  the bench itself used {level.own_cpu:.0%} of a core: the server may be faster than this"
    if any(_is_short(at) for at in (level.ttft, level.between_tokens, level.whole)):
        yield f"  -: too few samples to tell (P95 takes {NEEDED[95]}, P99 takes {NEEDED[99]})"


def _is_short(at: Percentiles) -> bool:
    return bool(at.samples) and at.p99 is None


def _shown(seconds: float | None) -> str:
    text = "-" if seconds is None else f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.1f} ms"
    return f"{text:>12}"
