"""``antiphon fidelity``: does a gateway pass on what model and caller say, exactly?"""

import asyncio
import contextlib
import fnmatch
import sys
from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec
import typer
import uvloop

from antiphon.cli.options import takes
from antiphon.cli.output import EXIT_ERROR, EXIT_USAGE, print_json, report, tell
from antiphon.cli.own_server import own_server
from antiphon.core.errors import AntiphonError, ConfigError
from antiphon.testing.fidelity import CASES, GROUPS, Case, Gateway, Report, Route, Stage, Suite
from antiphon.testing.fidelity.gateways import ANTIPHON, NAMES, known_gateway
from antiphon.testing.fidelity.report import lines

app = typer.Typer()

DEFAULT_PORT = 9100


class FidelityOptions(msgspec.Struct, frozen=True):
    """Parameters of the command."""

    gateway: Annotated[str | None, typer.Option("--gateway", help="URL of the gateway: its root or its /v1.")] = None
    own: Annotated[bool, typer.Option("--self", help="Start a server of our own first, and look at that.")] = False
    mock_port: Annotated[
        int,
        typer.Option("--mock-port", min=0, max=65535, help="Port of the scripted servers, to which the gateway sends its models."),
    ] = DEFAULT_PORT
    key: Annotated[
        str,
        typer.Option(
            "--key", envvar="ANTIPHON_API_KEY", help="Key for the gateway. Other users can see a key on the command line."
        ),
    ] = "sk-fidelity"
    model: Annotated[str, typer.Option("--model", help="The gateway's name for the model behind OpenAI's protocol.")] = (
        "fidelity-openai"
    )
    anthropic_model: Annotated[
        str, typer.Option("--anthropic-model", help="The gateway's name for the model behind Anthropic's protocol, if it has one.")
    ] = "fidelity-anthropic"
    header: Annotated[
        list[str] | None, typer.Option("--header", help='Further header of every request, as "name: value". May be repeated.')
    ] = None
    case: Annotated[
        list[str] | None, typer.Option("--case", help="Play this case alone; * stands for anything. May be repeated.")
    ] = None
    list_cases: Annotated[bool, typer.Option("--list", help="List the cases, and what is right in each.")] = False
    print_config: Annotated[
        str | None, typer.Option("--print-config", help=f"Print the configuration of a gateway, and what to type: {NAMES}.")
    ] = None
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False


@app.command()
@takes(FidelityOptions)
def fidelity(options: FidelityOptions) -> None:
    """See whether a gateway passes on exactly what model and caller say: streams, tools, usage, errors, cuts and more.

    The gateway must send the model fidelity-openai to the scripted server that this command starts, and may send
    fidelity-anthropic there too; --print-config shows how. The exit code is 0 where all cases were passed, 1 where not,
    2 where they could not be played.
    """
    try:
        if options.list_cases:
            _list(_chosen(options.case), as_json=options.json)
        elif options.print_config is not None:
            _print_config(options.print_config, options.mock_port or DEFAULT_PORT)
        else:
            played = _play(options, _chosen(options.case))
            sys.exit(EXIT_ERROR if played.failed else 0)
    except AntiphonError as error:
        report(error, as_json=options.json)
        sys.exit(EXIT_USAGE)


def _play(options: FidelityOptions, cases: Sequence[Case]) -> Report:
    port = 0 if options.own else options.mock_port
    with Stage(port, (options.model, options.anthropic_model)) as stage, _url(options, stage) as url:
        gateway = Gateway(url, options.key, options.model, options.anthropic_model, _headers(options.header or ()))
        if not options.json:
            tell(f"playing {len(cases)} cases against {url}; the scripted servers are on port {stage.port}")
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            played, absent = runner.run(_run(Suite(gateway, stage), cases, everything=bool(options.case)))
    if options.json:
        print_json(played)
    else:
        for line in lines(played, GROUPS, absent):
            typer.echo(line)
    return played


async def _run(suite: Suite, cases: Sequence[Case], *, everything: bool) -> tuple[Report, list[tuple[Route, int]]]:
    """``everything``: also cases of what the gateway does not seem to offer, because they were asked for by name."""
    await suite.greet()
    offered, absent = (list(cases), []) if everything else await suite.offers(cases)
    return await suite.run(offered), absent


@contextlib.contextmanager
def _url(options: FidelityOptions, stage: Stage) -> Iterator[str]:
    if options.own and options.gateway:
        raise ConfigError("--self and --gateway exclude each other", remedy="give one of them", key="gateway")
    if options.gateway:
        yield options.gateway
    elif options.own:
        with own_server(ANTIPHON.file(stage.port)) as url:
            yield url
    else:
        raise ConfigError("no gateway is named", remedy="name one with --gateway URL, or give --self", key="gateway")


def _print_config(name: str, port: int) -> None:
    gateway = known_gateway(name)
    for line in gateway.lines(port):
        tell(line)
    typer.echo(gateway.file(port), nl=False)


def _chosen(patterns: Sequence[str] | None) -> list[Case]:
    if not patterns:
        return list(CASES)
    for pattern in patterns:
        if not any(fnmatch.fnmatchcase(case.id, pattern) for case in CASES):
            raise ConfigError(f'there is no case "{pattern}"', remedy='see "antiphon fidelity --list"', key="case")
    return [case for case in CASES if any(fnmatch.fnmatchcase(case.id, pattern) for pattern in patterns)]


def _headers(given: Sequence[str]) -> tuple[tuple[str, str], ...]:
    headers = []
    for text in given:
        name, colon, value = text.partition(":")
        if not (colon and name.strip() and text.isascii() and text.isprintable()):
            raise ConfigError(f'"{text}" is no header', remedy='write it as "name: value"', key="header")
        headers.append((name.strip().lower(), value.strip()))
    return tuple(headers)


def _list(cases: Sequence[Case], *, as_json: bool) -> None:
    if as_json:
        print_json([{"id": case.id, "right": case.right} for case in cases])
        return
    for group in GROUPS:
        shown = [case for case in group.cases if case in cases]
        if shown:
            typer.echo(f"{group.title} ({len(shown)})")
        for case in shown:
            typer.echo(f"  {case.id}: {case.right}")
