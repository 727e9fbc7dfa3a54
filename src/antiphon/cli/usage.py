"""``antiphon usage``: what callers have used and spent, from the records, whether or not a server runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from antiphon.bootstrap.kept_records import record_store
from antiphon.cli.output import print_json, tell
from antiphon.cli.settings import load_settings
from antiphon.core.errors import SetupError
from antiphon.core.usage import DIMENSIONS, MAX_ROWS, UsageRow
from antiphon.gateway.admin.usage import as_csv, usage_query

app = typer.Typer()

By = Annotated[str, typer.Option("--by", help=f"What to put calls together by, with commas: {', '.join(DIMENSIONS)}.")]
Only = Annotated[
    list[str] | None, typer.Option("--only", metavar="NAME=VALUE", help="Only calls that have this value, such as team=red.")
]


@app.command()
def usage(
    by: By = "key",
    since: Annotated[str, typer.Option(help="From when on: a date, a time in UTC, or Unix time.")] = "",
    until: Annotated[str, typer.Option(help="Before when.")] = "",
    only: Only = None,
    csv: Annotated[bool, typer.Option("--csv", help="Print comma-separated values.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    config: Annotated[Path | None, typer.Option("--config", "-c", help="Configuration file.")] = None,
) -> None:
    """Show calls, tokens and costs, put together by key, team, model, day and so on."""
    values = dict(each.split("=", 1) for each in only or () if "=" in each)
    wrong = [each for each in only or () if each.partition("=")[0] not in DIMENSIONS or "=" not in each]
    if wrong:
        raise SetupError(f'"{wrong[0]}" is no NAME=VALUE', remedy=f"known names: {', '.join(DIMENSIONS)}")
    query = usage_query({**values, "by": by, "since": since, "until": until})
    settings = load_settings(config).settings
    store = record_store(settings)
    try:
        rows = store.usage(query)
    finally:
        store.close()
    if json:
        print_json(rows)
    elif csv:
        typer.echo(as_csv(query.by, rows), nl=False)
    else:
        _show(query.by, rows, settings.currency)
    if len(rows) >= MAX_ROWS:
        tell(f"only the first {MAX_ROWS} rows are shown: ask for a shorter time, or for less detail")


def _show(by: Sequence[str], rows: Sequence[UsageRow], currency: str) -> None:
    """A table for people."""
    head = (*by, "calls", "errors", "prompt", "cached", "completion", f"cost, {currency}")
    lines = [head]
    for row in rows:
        numbers = (row.calls, row.errors, row.prompt_tokens, row.cached_tokens, row.completion_tokens)
        lines.append((*(value or "-" for value in row.group.values()), *map(str, numbers), f"{row.cost / 1e6:.6f}"))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        left = [cell.ljust(width) for cell, width in zip(line[: len(by)], widths, strict=False)]
        right = [cell.rjust(width) for cell, width in zip(line[len(by) :], widths[len(by) :], strict=True)]
        typer.echo("  ".join((*left, *right)).rstrip())
    if not rows:
        tell("no calls are recorded for that time")
