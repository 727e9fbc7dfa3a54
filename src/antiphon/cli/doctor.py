"""``antiphon doctor``: look at everything that a server needs, and say what to do."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from antiphon.bootstrap.doctor import Finding, examine, read_subject
from antiphon.cli.models import RichProgress
from antiphon.cli.output import EXIT_ERROR, print_json, styled

app = typer.Typer()

COLOURS = {"ok": "green", "warning": "yellow", "error": "red"}
WIDTH = len("configuration")
"""Columns of the longest name of a check."""


class Diagnosis(msgspec.Struct, frozen=True):
    """All findings, for a script."""

    errors: int
    warnings: int
    findings: tuple[Finding, ...]


@app.command()
def doctor(
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="Configuration file; by default the one that the server would read.")
    ] = None,
    url: Annotated[str, typer.Option("--url", help="Look at the server that runs there, too.")] = "",
    online: Annotated[bool, typer.Option("--online", help="Ask each provider for its models, with its key.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check configuration, keys, port, folders, models, engines, memory and clock, and say what to do. It changes nothing.

    Exit code 1 if there is an error; a warning is none.
    """
    with RichProgress() as progress:
        findings = examine(read_subject(config, online=online, url=url, progress=progress))
        diagnosis = summed(findings if json else _shown(findings))
    if json:
        print_json(diagnosis)
    else:
        typer.echo(_summary(diagnosis))
    if diagnosis.errors:
        sys.exit(EXIT_ERROR)


def summed(findings: Iterable[Finding]) -> Diagnosis:
    """The findings with the number of their errors and warnings."""
    found = tuple(findings)
    errors, warnings = (sum(finding.status == status for finding in found) for status in ("error", "warning"))
    return Diagnosis(errors, warnings, found)


def _shown(findings: Iterable[Finding]) -> Iterable[Finding]:
    """The findings, each written as it comes."""
    for finding in findings:
        status = styled(f"{finding.status:7}", COLOURS[finding.status])
        typer.echo(f"{status}  {finding.check:{WIDTH}}  {finding.found}")
        if finding.remedy:
            typer.echo(f"{'':{7 + 2 + WIDTH + 2}}remedy: {finding.remedy}")
        yield finding


def _summary(diagnosis: Diagnosis) -> str:
    if not (diagnosis.errors or diagnosis.warnings):
        return "nothing is wrong"
    return f"{diagnosis.errors} error(s), {diagnosis.warnings} warning(s)"
