"""What a command says: results on standard output, errors and news on standard error."""

import contextlib
import errno
import os
import sys
from typing import Any

import msgspec
import typer

from antiphon.core.errors import AntiphonError, ConfigError

EXIT_ERROR = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class ErrorReport(msgspec.Struct, omit_defaults=True):
    """An error as a script reads it."""

    code: str
    message: str
    remedy: str = ""
    file: str = ""
    line: int = 0
    column: int = 0
    key: str = ""
    errors: tuple["ErrorReport", ...] = ()
    """The single errors, where the error stands for several."""


def styled(text: str, colour: str, *, bold: bool = False) -> str:
    """The text in a colour, unless the user wants none (https://no-color.org). ``typer.echo`` drops it for what is no terminal."""
    return text if os.environ.get("NO_COLOR") else typer.style(text, fg=colour, bold=bold)


def print_json(value: Any) -> None:
    """A result for scripts, on standard output."""
    typer.echo(msgspec.json.format(msgspec.json.encode(value)).decode())


def tell(text: str) -> None:
    """News for people, on standard error. Where that cannot be written to, a closed terminal or a full disk, nobody hears it."""
    with contextlib.suppress(OSError):
        typer.echo(text, err=True)


def warn(text: str) -> None:
    """A warning for people, on standard error."""
    tell(styled("warning: ", "yellow") + text)


def report(error: AntiphonError, *, as_json: bool = False) -> int:
    """Show an error; gives back the exit code that belongs to it."""
    if as_json:
        typer.echo(msgspec.json.encode({"error": describe(error)}).decode(), err=True)
    else:
        for each in getattr(error, "errors", ()) or (error,):
            place = each.place if isinstance(each, ConfigError) else ""
            typer.echo(styled("error: ", "red", bold=True) + place + each.message, err=True)
            if each.remedy:
                typer.echo(f"  remedy: {each.remedy}", err=True)
    return EXIT_USAGE if isinstance(error, ConfigError) else EXIT_ERROR


def cannot_write(error: OSError) -> AntiphonError | None:
    """The error to show where standard output took no more, as on a full disk; None where it is about something else.

    Standard output is given up then, or Python would complain once more at its end.
    """
    if error.errno not in _FULL or error.filename is not None:
        return None
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
    return AntiphonError(f"the output cannot be written: {error.strerror}", remedy="free some space, or write it elsewhere")


def report_unexpected(error: Exception, *, as_json: bool = False) -> int:
    """Show an error that nobody thought of; gives back its exit code."""
    message = f"unexpected {type(error).__name__}: {error}"
    return report(AntiphonError(message, remedy='run it again as "antiphon --debug ..." to see where'), as_json=as_json)


def describe(error: AntiphonError) -> ErrorReport:
    """The error for a script."""
    place: dict[str, Any] = {}
    if isinstance(error, ConfigError):
        place = {"file": error.file, "line": error.line, "column": error.column, "key": error.key}
    parts = tuple(describe(part) for part in getattr(error, "errors", ()))
    return ErrorReport(error.code, error.message, error.remedy, errors=parts, **place)
