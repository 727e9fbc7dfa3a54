"""``antiphon version``."""

import platform
from importlib.util import find_spec
from typing import Annotated

import msgspec
import typer

from antiphon import __version__
from antiphon.cli.output import print_json

app = typer.Typer()


class Version(msgspec.Struct, frozen=True):
    """What runs."""

    antiphon: str
    compiled: bool
    """Whether what every call goes through runs as machine code, as it does from a wheel that ``make wheel`` built."""
    python: str
    platform: str


def is_compiled() -> bool:
    """Whether what every call goes through runs as machine code."""
    server = find_spec("antiphon.transport.server")
    return server is not None and not (server.origin or "").endswith(".py")


@app.command()
def version(json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Show the versions of Antiphon and Python."""
    facts = Version(__version__, is_compiled(), platform.python_version(), platform.platform())
    if json:
        print_json(facts)
    else:
        typer.echo(f"antiphon {facts.antiphon}{', compiled' if facts.compiled else ''} (Python {facts.python}, {facts.platform})")
