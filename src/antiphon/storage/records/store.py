"""Finished calls in a SQL database, and what they used together."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from sqlalchemy import ColumnElement, Connection, Engine, RowMapping, case, delete, func, insert, select
from sqlalchemy.dialects import postgresql, sqlite

from antiphon.core.events import CallFinished
from antiphon.core.types import Usage
from antiphon.core.usage import MAX_ROWS, Dimension, UsageQuery, UsageRow, hour_of
from antiphon.governance.audit.record import of_call
from antiphon.storage.records.audit_writer import AuditWriter
from antiphon.storage.records.database import Database
from antiphon.storage.records.schema import bundles, calls

AT_ONCE: Final = 5000
"""Calls that are forgotten in one transaction."""
BUNDLES_KEPT: Final = 7 * 86400.0
"""Seconds for which it is known which bundles have come."""

_FIELDS: Final = tuple(name for name in CallFinished.__struct_fields__ if name != "usage")
_USAGE: Final = Usage.__struct_fields__
_COLUMNS: Final[Mapping[Dimension, ColumnElement[str]]] = {
    "key": calls.c.principal,
    "team": calls.c.team,
    "project": calls.c.project,
    "application": calls.c.application,
    "user": calls.c.user,
    "model": calls.c.model,
    "target": calls.c.target,
    "route": calls.c.route,
    "endpoint": calls.c.endpoint,
    "hour": calls.c.hour,
    "day": func.substr(calls.c.hour, 1, 10),
    "month": func.substr(calls.c.hour, 1, 7),
}


class SqlRecordStore:
    """RecordStore on a ``Database``. From any thread. What is added goes to the audit trail too, in the same transaction.

    While the database cannot be reached every method raises RecordsUnavailable, and the next one tries again.
    """

    def __init__(self, engine: Engine, audit: AuditWriter | None = None) -> None:
        self.database = Database(engine)
        self._audit = audit

    def add(self, events: Sequence[CallFinished], once: str = "") -> None:
        rows = [_row(event) for event in events]
        with self.database.transaction() as connection:
            if once and not self._is_new(connection, once):
                return
            if rows:
                connection.execute(insert(calls), rows)
                if self._audit is not None:
                    self._audit.write(connection, [of_call(event) for event in events])

    def recent(self, limit: int, model: str = "") -> Sequence[CallFinished]:
        wanted = select(calls).order_by(calls.c.number.desc()).limit(limit)
        if model:
            wanted = wanted.where(calls.c.model == model)
        with self.database.transaction() as connection:
            return [_event(row) for row in connection.execute(wanted).mappings()]

    def usage(self, query: UsageQuery) -> Sequence[UsageRow]:
        groups = [_COLUMNS[dimension].label(f"by_{dimension}") for dimension in query.by]
        sums = [func.coalesce(func.sum(calls.c[name]), 0) for name in (*_USAGE, "cost")]
        failed = func.coalesce(func.sum(case((calls.c.error != "", 1), else_=0)), 0)
        estimated = func.coalesce(func.sum(case((calls.c.estimated, 1), else_=0)), 0)
        wanted = select(*groups, func.count(), failed, estimated, *sums).where(calls.c.started_at >= query.since)
        if query.until:
            wanted = wanted.where(calls.c.started_at < query.until)
        for dimension, value in query.only.items():
            wanted = wanted.where(_COLUMNS[dimension] == value)
        if groups:
            wanted = wanted.group_by(*groups).order_by(*groups)
        with self.database.transaction() as connection:
            return [_usage(query.by, row) for row in connection.execute(wanted.limit(MAX_ROWS))]

    def forget(self, before: float) -> int:
        forgotten = 0
        while True:
            oldest = select(calls.c.number).where(calls.c.started_at < before).limit(AT_ONCE).scalar_subquery()
            with self.database.transaction() as connection:
                count = connection.execute(delete(calls).where(calls.c.number.in_(oldest))).rowcount
                forgotten += count
                if count < AT_ONCE:
                    connection.execute(delete(bundles).where(bundles.c.added_at < time.time() - BUNDLES_KEPT))
                    return forgotten

    def close(self) -> None:
        """Close all connections; the next use opens them again."""
        self.database.close()

    def _is_new(self, connection: Connection, name: str) -> bool:
        """Whether a bundle comes for the first time; it is marked."""
        make = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
        marking = make(bundles).values(name=name, added_at=time.time()).on_conflict_do_nothing()
        return connection.execute(marking.returning(bundles.c.name)).first() is not None


def _row(event: CallFinished) -> dict[str, Any]:
    row = {name: getattr(event, name) for name in _FIELDS}
    row.update(msgspec.structs.asdict(event.usage))
    row["candidates"] = event.candidates or None
    row["guarded"] = list(event.guarded) or None
    row["hour"] = hour_of(event.started_at)
    return row


def _event(told: RowMapping) -> CallFinished:
    fields = {name: told[name] for name in _FIELDS}
    fields["candidates"] = told["candidates"] or {}
    fields["guarded"] = tuple(told["guarded"] or ())
    return CallFinished(usage=Usage(*(told[name] for name in _USAGE)), **fields)


def _usage(by: tuple[Dimension, ...], row: Sequence[Any]) -> UsageRow:
    groups, numbers = row[: len(by)], [int(number) for number in row[len(by) :]]
    count, failed, estimated, prompt, completion, _, cached, reasoning, cost = numbers
    group = dict(zip(by, (str(value) for value in groups), strict=True))
    return UsageRow(group, count, failed, prompt, completion, cached, reasoning, estimated, cost)
