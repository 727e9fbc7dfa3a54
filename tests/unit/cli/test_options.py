from typing import Annotated

import msgspec
import typer
from typer.testing import CliRunner

from antiphon.cli.options import takes


class Options(msgspec.Struct, frozen=True):
    name: Annotated[str, typer.Argument(help="Name.")]
    count: Annotated[int, typer.Option("--count", "-n", min=1)] = 2
    tags: Annotated[list[str] | None, typer.Option("--tag")] = None


def run(*args: str) -> tuple[int, list[Options]]:
    taken: list[Options] = []
    app = typer.Typer()

    @app.command()
    @takes(Options)
    def command(options: Options) -> None:
        """Do it."""
        taken.append(options)

    return CliRunner().invoke(app, args).exit_code, taken


def test_fields_are_parameters():
    assert run("a", "-n", "3", "--tag", "x", "--tag", "y") == (0, [Options("a", 3, ["x", "y"])])


def test_defaults_are_the_fields():
    code, (options,) = run("a")
    assert (code, options.count, options.tags or None) == (0, 2, None)


def test_wrong_values_are_wrong_usage():
    assert run("a", "-n", "0") == (2, [])
    assert run() == (2, [])
