"""The tables, as the latest migration leaves them."""

import json
from typing import Any

from sqlalchemy import JSON, BigInteger, Boolean, Column, Dialect, Double, Index, Integer, MetaData, Table, Text
from sqlalchemy.types import TypeDecorator, UserDefinedType

NUMBER = BigInteger().with_variant(Integer, "sqlite")
"""SQLite counts rows by itself in columns of the type INTEGER only."""


class AnyText(TypeDecorator[str]):
    """Any Unicode text: PostgreSQL knows no U+0000, so there it is a backslash and a zero, and a backslash is two."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        if value is None or dialect.name != "postgresql" or ("\\" not in value and "\0" not in value):
            return value
        return value.replace("\\", "\\\\").replace("\0", "\\0")

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        if value is None or dialect.name != "postgresql" or "\\" not in value:
            return value
        return "\\".join(part.replace("\\0", "\0") for part in value.split("\\\\"))


class _JsonAsItIs(UserDefinedType[str]):
    """A column of JSON that is read as the text that it is."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return "JSON"


class Salts(TypeDecorator[dict[str, str]]):
    """A mapping as JSON; one that somebody has made unreadable says so, in place of an error."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> Any:
        return JSON() if dialect.name == "postgresql" else _JsonAsItIs()

    def process_bind_param(self, value: dict[str, str] | None, dialect: Dialect) -> Any:
        return value if dialect.name == "postgresql" else json.dumps(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> dict[str, str]:
        try:
            found = json.loads(value) if isinstance(value, str) else value
        except ValueError:
            found = None
        return found if isinstance(found, dict) else {"unreadable": ""}


metadata = MetaData()

bundles = Table(
    "bundles",
    metadata,
    Column("name", Text, primary_key=True),
    Column("added_at", Double, nullable=False),
)
"""Bundles of events that have been recorded: each may arrive twice."""

calls = Table(
    "calls",
    metadata,
    Column("number", NUMBER, primary_key=True, autoincrement=True),
    Column("id", AnyText, nullable=False),
    Column("endpoint", AnyText, nullable=False),
    Column("model", AnyText, nullable=False),
    Column("target", AnyText, nullable=False),
    Column("principal", AnyText, nullable=False),
    Column("status", Integer, nullable=False),
    Column("error", AnyText, nullable=False),
    Column("stream", Boolean, nullable=False),
    Column("started_at", Double, nullable=False),
    Column("hour", Text, nullable=False),
    Column("duration", Double, nullable=False),
    Column("ttft", Double, nullable=False),
    Column("prompt_tokens", BigInteger, nullable=False),
    Column("completion_tokens", BigInteger, nullable=False),
    Column("total_tokens", BigInteger, nullable=False),
    Column("cached_tokens", BigInteger, nullable=False),
    Column("reasoning_tokens", BigInteger, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("client", AnyText, nullable=False),
    Column("route", AnyText, nullable=False),
    Column("waited", Double, nullable=False),
    Column("candidates", JSON, nullable=True),
    Column("hedged", Boolean, nullable=False),
    Column("degraded", AnyText, nullable=False),
    Column("cost", BigInteger, nullable=False),
    Column("estimated", Boolean, nullable=False),
    Column("team", AnyText, nullable=False),
    Column("project", AnyText, nullable=False),
    Column("application", AnyText, nullable=False),
    Column("user", AnyText, nullable=False),
    Column("guarded", JSON, nullable=True),
    Index("calls_by_time", "started_at"),
    Index("calls_by_model", "model", "number"),
)
"""Finished calls. ``hour`` is ``2026-12-01T09`` in UTC: its beginning is the day, and the month."""

audit_chains = Table(
    "audit_chains",
    metadata,
    Column("chain", Text, primary_key=True),
    Column("number", BigInteger, nullable=False),
    Column("hash", Text, nullable=False),
)
"""Where each chain of the audit trail ends. Whoever writes to a chain locks its row."""

audit_records = Table(
    "audit_records",
    metadata,
    Column("chain", Text, primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("at", Double, nullable=False),
    Column("kind", Text, nullable=False),
    Column("id", AnyText, nullable=False),
    Column("model", AnyText, nullable=False),
    Column("status", Integer, nullable=False),
    Column("key", AnyText, nullable=True),
    Column("user", AnyText, nullable=True),
    Column("client", AnyText, nullable=True),
    Column("actor", AnyText, nullable=True),
    Column("salts", Salts, nullable=False),
    Column("record", Text, nullable=False),
    Column("hash", Text, nullable=False),
    Index("audit_by_time", "at", "chain", "number"),
    Index("audit_by_key", "key", "at"),
    Index("audit_by_user", "user", "at"),
    Index("audit_by_id", "id"),
)
"""The audit trail. ``record`` is what is chained; what names somebody stands beside it, where it can be erased."""
