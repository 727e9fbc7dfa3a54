"""``antiphon audit``: verify, export, search and erase from the audit trail, whether or not a server runs."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from antiphon.bootstrap.audit_verification import own_key, verify_trail
from antiphon.bootstrap.kept_audit import account, opened
from antiphon.cli.audit_lines import HEAD, as_row, as_text, exported
from antiphon.cli.options import takes
from antiphon.cli.output import EXIT_ERROR, print_json, tell, warn
from antiphon.cli.settings import load_settings
from antiphon.core.audit import AuditQuery
from antiphon.core.errors import SetupError
from antiphon.gateway.admin.audit import DEFAULT_RECORDS, MAX_RECORDS, audit_query
from antiphon.governance.audit.verification import ChainReport

app = typer.Typer(name="audit", help="Verify, export, search and erase from the audit trail.", no_args_is_help=True)

Config = Annotated[Path | None, typer.Option("--config", "-c", help="Configuration file.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


class Verdict(msgspec.Struct, frozen=True):
    """What ``antiphon audit verify`` found."""

    valid: bool
    chains: tuple[ChainReport, ...]


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """Options that choose among records."""

    since: Annotated[str, typer.Option(help="From when on: a date, a time in UTC, or Unix time.")] = ""
    until: Annotated[str, typer.Option(help="Before when.")] = ""
    key: Annotated[str, typer.Option(help="Name of the caller's key.")] = ""
    user: Annotated[str, typer.Option(help="Who called, or the account that acted.")] = ""
    model: Annotated[str, typer.Option(help="Model, as the caller named it.")] = ""
    status: Annotated[str, typer.Option(help="HTTP status.")] = ""
    id: Annotated[str, typer.Option(help="Request id.")] = ""
    kind: Annotated[str, typer.Option(help="call, or an act such as keys.revoke.")] = ""
    config: Config = None

    def query(self, after: str = "") -> AuditQuery:
        """What they ask for. Raises InvalidRequest."""
        names = (name for name in Chosen.__struct_fields__ if name != "config")
        return audit_query({**{name: getattr(self, name) for name in names}, "after": after})


class SearchOptions(Chosen, frozen=True, kw_only=True):
    """Options of ``antiphon audit search``."""

    limit: Annotated[int, typer.Option(min=1, max=MAX_RECORDS, help="Records to show.")] = DEFAULT_RECORDS
    after: Annotated[str, typer.Option(help="Only records behind this one: CHAIN/NUMBER.")] = ""
    json: Json = False


class ExportOptions(Chosen, frozen=True, kw_only=True):
    """Options of ``antiphon audit export``."""

    csv: Annotated[bool, typer.Option("--csv", help="Print comma-separated values, for reading; they cannot be verified.")] = False


@app.command("verify")
def verify_chains(
    checkpoints: Annotated[
        list[Path] | None, typer.Option("--checkpoints", help="A file of checkpoints; may be given several times.")
    ] = None,
    public_key: Annotated[
        list[str] | None, typer.Option("--public-key", help="A key to trust beside this server's, as hexadecimal digits.")
    ] = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Walk all chains, and name the first place in each that is not as it was written; the exit code is 1 then."""
    reports = verify_trail(load_settings(config).settings, checkpoints or (), public_key or (), warn)
    if json:
        print_json(Verdict(not any(report.fault for report in reports), reports))
    else:
        for report in reports:
            _show(report)
        if not reports:
            tell("there is no audit trail yet")
    if any(report.fault for report in reports):
        raise typer.Exit(EXIT_ERROR)


@app.command()
@takes(ExportOptions)
def export(options: ExportOptions) -> None:
    """Print records, oldest first, as lines of JSON that can be verified elsewhere."""
    with opened(load_settings(options.config).settings) as records, records.trail.snapshot() as snapshot:
        if options.csv:
            typer.echo(as_text(HEAD))
        for row in snapshot.chosen(options.query()):
            typer.echo(as_text(as_row(row)) if options.csv else exported(row))


@app.command()
@takes(SearchOptions)
def search(options: SearchOptions) -> None:
    """Show records, latest first."""
    with opened(load_settings(options.config).settings) as records:
        found = records.trail.search(options.query(options.after), options.limit)
    if options.json:
        print_json(found)
        return
    for row in found:
        moment = datetime.fromtimestamp(row.at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        who = row.key or row.user or row.actor or ("(erased)" if row.erased else "-")
        what = " ".join(str(row.facts[name]) for name in ("model", "target", "status", "error") if row.facts.get(name))
        typer.echo(f"{row.chain}/{row.number}  {moment}  {row.kind}  {who}  {what}".rstrip())
    if not found:
        tell("no such records are in the audit trail")


@app.command()
def erase(
    key: Annotated[str, typer.Option(help="Name of the caller's key.")] = "",
    user: Annotated[str, typer.Option(help="Who called, or the account that acted.")] = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    config: Config = None,
    json: Json = False,
) -> None:
    """Erase the name, the user and the address in all records and calls of a key or a user. The chains stay valid."""
    if bool(key) == bool(user):
        raise SetupError("nobody is named, or twice", remedy="give either --key NAME or --user NAME")
    if not yes:
        typer.confirm(f"Erase who {key or user} is from the audit trail and the usage, for good?", abort=True)
    with opened(load_settings(config).settings, to_write=True) as records:
        if key:
            erased = records.trail.erase("key", key, account())
        else:
            erased = sum(records.trail.erase(by, user, account()) for by in ("user", "actor"))
        records.trail.seal()
    if json:
        print_json({"erased": erased})
    else:
        typer.echo(f"{erased} records name nobody any more")


@app.command("key")
def show_key(config: Config = None, json: Json = False) -> None:
    """Show the public key that verifies this server's checkpoints, and the name of its chain."""
    public, chain = own_key(load_settings(config, secrets=False).settings)
    if not public:
        raise SetupError("there is no signing key yet", remedy="start the server once: it makes one")
    if json:
        print_json({"public_key": public, "chain": chain})
    else:
        typer.echo(public)
        tell(f"of the chain {chain}" if chain else "of no chain yet")


def _show(report: ChainReport) -> None:
    if report.fault is not None:
        typer.echo(f"{report.chain}: WRONG at record {report.fault.number} ({report.fault.what}): {report.fault.detail}")
        return
    span = f"records {report.first} to {report.last}" if report.first else "no records"
    erased = f", {report.erased} of them erased from" if report.erased else ""
    typer.echo(f"{report.chain}: {span}{erased} are as they were written; sealed up to {report.sealed}")
    if not report.checkpoints and report.last:
        warn(f"no checkpoint of {report.chain} is known here; whether its end is whole, its server's file tells (--checkpoints)")
