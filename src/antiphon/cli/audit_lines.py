"""Records of the audit trail as lines: JSON that can be verified elsewhere, and comma-separated values for reading."""

import csv
import io
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from antiphon.core.spreadsheet import harmless
from antiphon.governance.audit.record import PERSONAL, Entry

_FACTS: Final = ("id", "endpoint", "model", "target", "route", "status", "error", "attempts", "cost", "started_at", "duration")
_USAGE: Final = ("prompt_tokens", "completion_tokens", "total_tokens")
HEAD: Final = ("chain", "number", "at", "kind", *PERSONAL, *_FACTS, *_USAGE, "facts", "hash")
"""The first line of comma-separated values."""


class _Personal(msgspec.Struct, frozen=True):
    """A value that a record commits to: SHA-256 of the salt's bytes and the value's."""

    value: str
    salt: str


class _Exported(msgspec.Struct, frozen=True):
    """A record with all that is needed to verify it."""

    chain: str
    number: int
    record: str
    hash: str
    personal: dict[str, _Personal]


def exported(row: Entry) -> str:
    """A record as a line of JSON, without its end."""
    personal = {name: _Personal(getattr(row, name), row.salts[name]) for name in PERSONAL if getattr(row, name) is not None}
    return msgspec.json.encode(_Exported(row.chain, row.number, row.record, row.hash, personal)).decode()


def as_row(row: Entry) -> list[Any]:
    """A record as the values below ``HEAD``."""
    facts: dict[str, Any] = msgspec.json.decode(row.record)["facts"]
    usage = facts.get("usage", {})
    moment = datetime.fromtimestamp(row.at, UTC).isoformat()
    who = (getattr(row, name) or "" for name in PERSONAL)
    told = (facts.get(name, "") for name in _FACTS)
    tokens = (usage.get(name, "") for name in _USAGE)
    return [row.chain, row.number, moment, row.kind, *who, *told, *tokens, msgspec.json.encode(facts).decode(), row.hash]


def as_text(values: Sequence[Any]) -> str:
    """Values with commas between them (RFC 4180), without the line's end."""
    written = io.StringIO()
    csv.writer(written, lineterminator="").writerow([harmless(each) if isinstance(each, str) else each for each in values])
    return written.getvalue()
