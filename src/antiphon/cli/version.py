"""``antiphon version``."""

import platform
from typing import Annotated

import msgspec
import typer

from antiphon import __version__
from antiphon.cli.output import print_json

app = typer.Typer()


class Version(msgspec.Struct, frozen=True):
    """What runs."""

    antiphon: str
    python: str
    platform: str


@app.command()
def version(json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Show the versions of Antiphon and Python."""
    facts = Version(__version__, platform.python_version(), platform.platform())
    if json:
        print_json(facts)
    else:
        typer.echo(f"antiphon {facts.antiphon} (Python {facts.python}, {facts.platform})")
