"""The command line's application, whose help tells no more of an option than one needs to use it."""

from typing import Any

import typer


class Application(typer.Typer):
    """A ``typer.Typer`` whose help leaves out the type of an option that takes no value."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command that the arguments name."""
        return command_of(self)(*args, **kwargs)


def command_of(application: typer.Typer) -> Any:
    """The command behind an application, as it is run and documented."""
    command = typer.main.get_command(application)
    _tidy(command)
    return command


def _tidy(command: Any) -> None:
    # through a context, because only there is the option --help made
    for parameter in command.get_params(typer.Context(command)):
        if parameter.param_type_name == "option" and parameter.is_flag:
            parameter.metavar = ""
    for below in getattr(command, "commands", {}).values():
        _tidy(below)
