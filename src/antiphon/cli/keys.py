"""``antiphon keys``: make, show, revoke and restore the keys of the callers."""

import re
import secrets
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from antiphon.bootstrap.revocations import Revocation, Revocations, revocations_file
from antiphon.bootstrap.revoking import Outcome
from antiphon.bootstrap.revoking import revoke as revoke_keys
from antiphon.cli.acts import note
from antiphon.cli.output import print_json, tell
from antiphon.cli.settings import load_settings
from antiphon.config import Settings
from antiphon.config.keys_file import FIELDS, LISTS, KeyRow, is_name, is_owner, key_rows, read_keys_file
from antiphon.core.audit import Act
from antiphon.core.errors import AntiphonError, NotFound, SetupError
from antiphon.core.moments import HOW, parse_moment
from antiphon.gateway.key_table import digest_of

app = typer.Typer(name="keys", help="Make, show, revoke and restore the keys of the callers.", no_args_is_help=True)

Config = Annotated[Path | None, typer.Option("--config", "-c", help="Configuration file.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Wait = Annotated[float, typer.Option("--wait", min=0, help="Seconds to wait for the workers of a running server.")]
Named = Annotated[str, typer.Argument(help="Name of the key, or the beginning of its SHA-256 as sha256:HEX.", show_default=False)]

SHOWN_DIGITS = 12
"""Hexadecimal digits of a digest that are shown to people."""

_DIGEST = re.compile(r"sha256:([0-9a-fA-F]{8,64})")


class NewKey(msgspec.Struct, frozen=True):
    """A key that nobody has had before."""

    name: str
    key: str
    line: str
    """For the file that ``server.keys_file`` names."""


class KeyListing(msgspec.Struct, frozen=True):
    """A key that is configured, or revoked, as far as it may be seen."""

    name: str
    sha256: str
    origin: str
    """``server.keys``, or file and line; empty where it is configured no longer."""
    revoked: bool
    expired: bool = False
    """Its time is over."""


class Change(msgspec.Struct, frozen=True):
    """A key that was revoked or restored."""

    name: str
    sha256: str
    revoked: bool
    workers: int
    """Workers of running servers that obey it."""
    seconds: float
    """Until the last of them said so."""


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="Who will call with it.")],
    fields: Annotated[
        list[str] | None,
        typer.Argument(
            help="What is known besides, as in the file: to whom it belongs (team=, project=, application=, user=), what it may do "
            "and with which models (roles=, models=; several with commas), from when on it counts no longer (expires=)."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Print a fresh key, once, and the line for the file that server.keys_file names. Nothing is written anywhere."""
    if not is_name(name):
        raise SetupError(
            f"{name[:80]!r} cannot be the name of a key",
            remedy='take 1 to 256 bytes of UTF-8 that show, without blanks, that begin neither with "#" nor with "sha256:"',
        )
    columns = "".join(f" {field}={value}" for field, value in _fields(fields or ()).items())
    key = f"ap-{secrets.token_urlsafe(32)}"
    made = NewKey(name, key, f"{name} sha256:{digest_of(key.encode()).hex()}{columns}")
    if json:
        print_json(made)
        return
    tell("The key, which is shown only now, and its line for the file that server.keys_file names; SIGHUP has the server read it:")
    typer.echo(made.key)
    typer.echo(made.line)


def _fields(given: Iterable[str]) -> dict[str, str]:
    """What is known of a key, as the file has it."""
    found: dict[str, str] = {}
    for text in given:
        field, equals, value = text.partition("=")
        if field not in FIELDS or not equals or not value:
            raise SetupError(f"{text[:80]!r} says nothing of a key", remedy=f"write {', '.join(f'{name}=...' for name in FIELDS)}")
        if field in found:
            raise SetupError(f"{field}= is there twice", remedy="several roles or models stand in one list, with commas")
        if field == "expires":
            value = _expiry(value)
        for name in value.split(",") if field in LISTS else (value,):
            if not is_owner(name):
                raise SetupError(f"{name[:80]!r} cannot stand in {field}=", remedy="take 1 to 128 characters without blanks")
        found[field] = value
    return found


def _expiry(text: str) -> str:
    """A moment as the file of keys has it."""
    try:
        return datetime.fromtimestamp(parse_moment(text), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except ValueError:
        raise SetupError(f'"{text[:40]}" is no time', remedy=f"give {HOW}") from None


@app.command("list")
def list_keys(config: Config = None, json: Json = False) -> None:
    """Show the keys: whose they are, the beginning of their SHA-256, where they stand, and whether they are revoked.

    Revoked keys that are configured no longer come last.
    """
    settings = load_settings(config).settings
    revoked = _revoked(settings)
    configured = key_rows(settings.server)
    now = time.time()
    rows = [
        KeyListing(
            row.name, row.digest.hex(), _origin(settings, row), row.digest in revoked, bool(row.expires) and row.expires <= now
        )
        for row in configured
    ]
    gone = revoked.keys() - {row.digest for row in configured}
    rows += [KeyListing(row.name, row.digest.hex(), "", revoked=True) for row in revoked.values() if row.digest in gone]
    if json:
        print_json(rows)
        return
    width = max((len(row.name) for row in rows), default=0)
    for row in rows:
        origin = row.origin or "configured no longer"
        marks = ("  revoked" if row.revoked else "") + ("  expired" if row.expired else "")
        typer.echo(f"{row.name:{width}}  {row.sha256[:SHOWN_DIGITS]}  {origin}{marks}")
    if not rows:
        tell("no keys are configured")


@app.command()
def revoke(name: Named, config: Config = None, wait: Wait = 5.0, json: Json = False) -> None:
    """Have a key count no longer, at once and for good, in every running server with this data_dir; no reload is needed."""
    _change(name, config, wait, json, revoked=True)


@app.command()
def restore(name: Named, config: Config = None, wait: Wait = 5.0, json: Json = False) -> None:
    """Undo "antiphon keys revoke": the key counts again wherever it is configured."""
    _change(name, config, wait, json, revoked=False)


def _change(name: str, config: Path | None, wait: float, json: bool, *, revoked: bool) -> None:
    settings, row = _found(name, config)
    digest = row.digest.hex()
    outcome = revoke_keys(revocations_file(settings.data_dir), [Revocation(digest, row.name, revoked)], wait)
    note(config, Act("keys.revoke" if revoked else "keys.restore", key=row.name or f"sha256:{digest}"))
    done = f"{row.name or 'the key'} (sha256:{digest[:SHOWN_DIGITS]}...) is {'revoked' if revoked else 'restored'}"
    if outcome.silent:
        raise AntiphonError(
            f"{done}, but within {outcome.seconds:.1f} s nothing was heard of it from {', '.join(outcome.silent)}",
            remedy="look into the log of the server; a worker that is started again obeys",
        )
    if json:
        print_json(Change(row.name, digest, revoked, len(outcome.obeying), round(outcome.seconds, 3)))
    else:
        typer.echo(f"{done}: {_told(outcome)}")


def _told(outcome: Outcome) -> str:
    if not outcome.obeying:
        return "no worker of this user runs with this data_dir; one of another obeys within a second, and any from its start"
    count = len(outcome.obeying)
    return f"{'the worker obeys' if count == 1 else f'all {count} workers obey'} after {outcome.seconds:.2f} s"


def _found(name: str, config: Path | None) -> tuple[Settings, KeyRow]:
    """The settings and the key that is meant: a configured one, or else one that was revoked.

    The secrets of the configuration are read only if it is not in the file of keys, nor revoked and called by its digest.
    """
    settings = load_settings(config, secrets=False).settings
    digest = _DIGEST.fullmatch(name)
    if digest is not None and len(digest[1]) == 2 * len(digest_of(b"")):
        return settings, KeyRow("", bytes.fromhex(digest[1]))
    listed = read_keys_file(Path(settings.server.keys_file)) if settings.server.keys_file else []
    revoked = _revoked(settings)
    matching = _matching([*listed, *(revoked.values() if digest else ())], name)
    if not matching:
        matching = _matching(key_rows(load_settings(config).settings.server), name) or _matching(revoked.values(), name)
    if len(matching) == 1:
        return settings, matching[0]
    if matching:
        alike, remedy = ("begin with", "give more digits") if digest else ("were called", "give the sha256:HEX of one of them")
        raise NotFound(f"{len(matching)} keys {alike} {name}", remedy=remedy)
    raise NotFound(
        f'no key "{name[:80]}" is configured or revoked', remedy='"antiphon keys list" shows them; any other goes by its sha256:HEX'
    )


def _matching(rows: Iterable[KeyRow], name: str) -> list[KeyRow]:
    digest = _DIGEST.fullmatch(name)
    if digest is None:
        return [row for row in rows if row.name == name]
    found = [row for row in rows if row.digest.hex().startswith(digest[1].lower())]
    return list({row.digest: row for row in reversed(found)}.values())  # the configured one, where it is revoked too


def _revoked(settings: Settings) -> dict[bytes, KeyRow]:
    """The revoked keys by their digests, in the order of the file."""
    known = Revocations(revocations_file(settings.data_dir))
    known.refresh()
    return {digest: KeyRow(owner, digest) for digest, owner in known.owners.items()}


def _origin(settings: Settings, row: KeyRow) -> str:
    return f"{settings.server.keys_file}:{row.line}" if row.line else "server.keys"
