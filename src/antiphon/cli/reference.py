"""Writes the page that documents every command, from the commands themselves: ``python -m antiphon.cli.reference``."""

from collections.abc import Iterator
from typing import Any

import typer

from antiphon.cli import build

INTRODUCTION = """\
# Commands

Results go to standard output, news and errors to standard error. The exit code is 0, 1 for an error, 2 for wrong usage or a wrong
configuration, 130 after Ctrl-C; but 0 after Ctrl-C or SIGTERM where `antiphon serve` or `antiphon engine` ends in good order, which
is what they are asked for. With `--json` a command prints JSON, and an error is
`{"error": {"code", "message", "remedy", ...}}` on standard error. `antiphon --debug COMMAND` shows the traceback of an error.
`antiphon --install-completion` lets the shell complete commands.

Of the environment, `ANTIPHON_CONFIG` names the configuration file, `ANTIPHON_URL` and `ANTIPHON_API_KEY` the server and the key of
`antiphon chat` and `antiphon bench`, and `NO_COLOR` turns colours off.
"""


def reference() -> str:
    """The page, in Markdown."""
    return "\n".join([INTRODUCTION, *_sections(typer.main.get_command(build()), "antiphon")])


def _sections(command: Any, name: str) -> Iterator[str]:
    below = getattr(command, "commands", None)
    if below is None:
        yield from _section(command, name)
    else:
        for key, child in below.items():
            yield from _sections(child, f"{name} {key}")


def _section(command: Any, name: str) -> Iterator[str]:
    arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    options = [parameter for parameter in command.params if parameter.param_type_name == "option" and parameter.name != "help"]
    usage = " ".join([name, "[OPTIONS]", *(_placeholder(argument) for argument in arguments)])
    yield f"## `{name}`\n"
    yield f"{' '.join((command.help or '').split())}\n"
    yield f"```\n{usage}\n```\n"
    if arguments or options:
        yield "| parameter | meaning |"
        yield "|---|---|"
        for parameter in arguments:
            yield f"| `{parameter.name.upper()}` | {_meaning(parameter)} |"
        for parameter in options:
            names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
            yield f"| {names} | {_meaning(parameter)} |"
        yield ""


def _placeholder(argument: Any) -> str:
    name = argument.name.upper() + ("..." if argument.nargs != 1 else "")
    return name if argument.required else f"[{name}]"


def _meaning(parameter: Any) -> str:
    text = " ".join((parameter.help or "").split()).replace("|", "\\|")
    return f"{text} Environment: `{parameter.envvar}`." if parameter.envvar else text


if __name__ == "__main__":
    typer.echo(reference(), nl=False)
