"""``antiphon records``: the schema of the database of the records."""

from pathlib import Path
from typing import Annotated

import typer

from antiphon.bootstrap.kept_audit import AuditedRecords
from antiphon.cli.output import print_json
from antiphon.cli.settings import load_settings
from antiphon.core.errors import SetupError

app = typer.Typer(name="records", help="Look at the database of the records, and change its schema.", no_args_is_help=True)

Config = Annotated[Path | None, typer.Option("--config", "-c", help="Configuration file.")]


@app.command()
def migrate(
    to: Annotated[str, typer.Option(help="Revision to go to, such as 0001; the latest one otherwise.")] = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Go to an older one, and lose what it has no place for.")] = False,
    config: Config = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Bring the database to a schema; to an older one before an older version of Antiphon is started. Stop the server first."""
    database = AuditedRecords(load_settings(config).settings).store.database
    try:
        known = database.revisions()
        if to and to not in known:
            raise SetupError(f'there is no revision "{to[:40]}"', remedy=f"known: {', '.join(known)}")
        wanted, present = to or known[-1], database.revision()
        if present is not None and wanted < present and not yes:
            raise SetupError(
                f"the schema {wanted} has no place for some of what {present} holds, such as the audit trail below 0002",
                remedy="export it, back up the database, and give --yes",
            )
        database.migrate(wanted)
    finally:
        database.close()
    if json:
        print_json({"from": present, "to": wanted})
    else:
        typer.echo(f"the schema is {wanted}" + (f", and was {present}" if present not in (None, wanted) else ""))
