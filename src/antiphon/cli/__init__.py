"""The command line. One module a command, loaded only when it is called, so that the others cost nothing."""

import sys
import traceback
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Annotated

import typer

from antiphon import __version__
from antiphon.cli.application import Application
from antiphon.cli.output import EXIT_INTERRUPTED, cannot_write, report, report_unexpected
from antiphon.core.errors import AntiphonError

COMMANDS = (
    *("serve", "chat", "models", "engine", "keys", "usage", "audit", "records"),
    *("config", "doctor", "bench", "simulate", "fidelity", "version"),
)
"""Modules of this package, each with an ``app``; in the order of the help."""

HELP = "One endpoint in front of every language model that a team has."


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"antiphon {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Options that come before the command. ``main`` looks for ``--debug`` itself: it must know even when parsing fails."""


def build(commands: Iterable[str] = COMMANDS) -> typer.Typer:
    """The application with some of its commands, all by default."""
    application = Application(name="antiphon", help=HELP, no_args_is_help=True, pretty_exceptions_enable=False)
    application.callback()(_options)
    for command in commands:
        application.add_typer(import_module(f"antiphon.cli.{command}").app)
    return application


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; gives back the exit code: 0, 1 for an error, 2 for wrong usage or configuration, 130 for Ctrl-C."""
    args = list(sys.argv[1:] if arguments is None else arguments)
    named = next((arg for arg in args if not arg.startswith("-")), "")
    as_json, debug = "--json" in args, "--debug" in args
    try:
        build([named] if named in COMMANDS else COMMANDS)(args, prog_name="antiphon")
    except AntiphonError as error:
        if debug:
            traceback.print_exc()
        return report(error, as_json=as_json)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except Exception as error:  # the border of the process: nobody but a developer reads a traceback with joy
        if debug:
            traceback.print_exc()
        if isinstance(error, OSError) and (full := cannot_write(error)):
            return report(full, as_json=as_json)
        return report_unexpected(error, as_json=as_json)
    return 0


def __getattr__(name: str) -> typer.Typer:
    """``app`` is the whole application, made when somebody (a test, the documentation) asks for it."""
    if name == "app":
        return build()
    raise AttributeError(name)
