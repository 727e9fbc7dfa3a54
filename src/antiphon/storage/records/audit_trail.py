"""The audit trail in the database of the records: searched, verified, sealed, cut and erased from."""

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, RowMapping, Select, and_, bindparam, delete, func, or_, select, update

from antiphon.core.audit import Act, AuditEntry, AuditQuery
from antiphon.core.errors import InvalidRequest
from antiphon.governance.audit.checkpoint import Checkpoint
from antiphon.governance.audit.numbers import as_text, from_text
from antiphon.governance.audit.record import PERSONAL, Entry, of_act
from antiphon.governance.audit.verification import ERASE, SEAL, Head
from antiphon.storage.audit.files import AuditFiles, checkpoints_in
from antiphon.storage.records.audit_writer import AuditWriter
from antiphon.storage.records.database import Database
from antiphon.storage.records.schema import audit_chains, audit_records, calls

CUT: Final = "audit.cut"
"""Kind of the act that says up to where records were deleted."""
AT_ONCE: Final = 5000
"""Records that are read at once, or erased from in one transaction."""

_ERASED_WITH: Final[Mapping[str, tuple[str, ...]]] = {
    "key": ("key", "user", "client"),
    "user": ("key", "user", "client"),
    "actor": ("actor",),
}
"""By what is erased -> what goes with it: a call tells of one caller by name, user and address."""

log = logging.getLogger(__name__)


class Snapshot:
    """All chains at one moment."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def heads(self) -> dict[str, Head | None]:
        """Each chain, and where it ends; None where nothing says so."""
        found: dict[str, Head | None] = dict.fromkeys(self._connection.execute(select(audit_records.c.chain).distinct()).scalars())
        found.update((row.chain, Head(row.number, row.hash)) for row in self._connection.execute(select(audit_chains)))
        return found

    def entries(self, chain: str) -> Iterator[Entry]:
        """The records of a chain by their numbers, rising."""
        behind = -(1 << 62)
        while True:
            wanted = select(audit_records).where(audit_records.c.chain == chain, audit_records.c.number > behind)
            rows = self._connection.execute(wanted.order_by(audit_records.c.number).limit(AT_ONCE)).mappings().all()
            yield from (Entry(**row) for row in rows)
            if len(rows) < AT_ONCE:
                return
            behind = rows[-1]["number"]

    def chosen(self, query: AuditQuery) -> Iterator[Entry]:
        """The records that are asked for, oldest first, those of one chain by their numbers."""
        for chain in sorted(self.heads()):
            for row in self.entries(chain):
                if _is_asked_for(row, query):
                    yield row


class SqlAuditTrail:
    """The audit trail of a database. From any thread. Every method raises RecordsUnavailable where the database cannot be used."""

    def __init__(self, database: Database, files: AuditFiles, writer: AuditWriter, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._files = files
        self._writer = writer
        self._clock = clock

    def search(self, query: AuditQuery, limit: int) -> Sequence[AuditEntry]:
        """The last records that are asked for, latest first. Raises InvalidRequest where ``after`` is not there."""
        table = audit_records.c
        with self._database.transaction() as connection:
            wanted = _where(select(audit_records), query)
            if query.after:
                at, chain, number = self._place(connection, query.after)
                same = and_(table.at == at, or_(table.chain > chain, and_(table.chain == chain, table.number < number)))
                wanted = wanted.where(or_(table.at < at, same))
            wanted = wanted.order_by(table.at.desc(), table.chain, table.number.desc()).limit(limit)
            return [_shown(row) for row in connection.execute(wanted).mappings()]

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """For reading a lot."""
        with self._database.snapshot() as connection:
            yield Snapshot(connection)

    def record(self, act: Act) -> None:
        """Add an act to this server's chain."""
        with self._database.transaction() as connection:
            self._writer.write(connection, [of_act(act)])

    def seal(self) -> Checkpoint | None:
        """Sign how far this server's chain has come; None where there is nothing new. Raises SetupError and OSError."""
        with self._database.transaction() as connection:
            chain = self._writer.chain(connection)
            last = connection.execute(
                select(audit_records.c.number, audit_records.c.hash, audit_records.c.kind)
                .where(audit_records.c.chain == chain)
                .order_by(audit_records.c.number.desc())
                .limit(1)
            ).first()
        if last is None or last.kind == SEAL:
            return None
        self._database.settle()
        checkpoint = self._files.append(chain, "checkpoint", Head(last.number, last.hash), self._clock())
        self.record(Act(SEAL, {"index": checkpoint.index, "up_to": checkpoint.number}))
        self._writer.unsealed = 0
        return checkpoint

    def cut(self, before: float) -> int:
        """Delete the records of this server's chain up to the last checkpoint before a moment, Unix time in seconds; how many.

        Raises SetupError and OSError.
        """
        chain = self._files.known_chain()
        if not chain or not self._has_older(chain, before):
            return 0
        with self._database.transaction() as connection:
            self._writer.lock(connection)
            upto = self._cuttable(connection, chain, before)
            if upto is None:
                return 0
            self._files.append(chain, "cut", Head(upto.number, upto.hash), self._clock())
            old = delete(audit_records).where(audit_records.c.chain == chain, audit_records.c.number <= upto.number)
            count = connection.execute(old).rowcount
            self._writer.write(connection, [of_act(Act(CUT, {"up_to": upto.number, "records": count}))])
            return count

    def erase(self, by: str, name: str, actor: str) -> int:
        """Erase all that names somebody in the records of a ``key``, a ``user`` or an ``actor``; how many they were.

        The calls of the usage lose it too. Values and salts are gone when this returns, in SQLite from the disk as well, unless
        others read there all the time.
        """
        owned = {"key": calls.c.principal, "user": calls.c.user}.get(by)
        erased = 0
        while True:
            with self._database.transaction() as connection:
                if connection.dialect.name == "sqlite":
                    connection.exec_driver_sql("PRAGMA secure_delete = ON")
                self._writer.lock(connection)
                count = self._erase_some(connection, by, name, actor)
                if owned is not None and not erased:
                    connection.execute(update(calls).where(owned == name).values(principal="", user="", client=""))
            erased += count
            if count < AT_ONCE:
                self._database.settle(whole=True)
                return erased

    def _erase_some(self, connection: Connection, by: str, name: str, actor: str) -> int:
        table, gone = audit_records.c, _ERASED_WITH[by]
        wanted = select(table.chain, table.number, table.salts).where(table[by] == name)
        rows = connection.execute(wanted.order_by(table.chain, table.number).limit(AT_ONCE)).all()
        if not rows:
            return 0
        changed = update(audit_records).where(table.chain == bindparam("of_chain"), table.number == bindparam("of_number"))
        changed = changed.values(salts=bindparam("left"), **dict.fromkeys(gone))
        left = [
            {"of_chain": row.chain, "of_number": row.number, "left": {key: row.salts[key] for key in row.salts if key not in gone}}
            for row in rows
        ]
        connection.execute(changed, left)
        chains = sorted({row.chain for row in rows})
        numbers = {chain: as_text(row.number for row in rows if row.chain == chain) for chain in chains}
        act = Act(ERASE, {"by": by, "fields": gone, "records": numbers, "count": len(rows)}, actor)
        self._writer.write(connection, [of_act(act)])
        return len(rows)

    def _has_older(self, chain: str, before: float) -> bool:
        older = select(audit_records.c.number).where(audit_records.c.chain == chain, audit_records.c.at < before).limit(1)
        with self._database.transaction() as connection:
            return connection.execute(older).first() is not None

    def _cuttable(self, connection: Connection, chain: str, before: float) -> Checkpoint | None:
        """The last checkpoint up to which all may go; None where there is none, or the chain is not what it saw."""
        table = audit_records.c
        oldest = connection.execute(select(func.min(table.number)).where(table.chain == chain)).scalar() or 0
        needed = self._erasures_needed(connection, chain)
        found = None
        for line in checkpoints_in(self._files.places.checkpoints):
            of_use = line is not None and line.chain == chain and line.kind == "checkpoint" and oldest <= line.number < needed
            if line is not None and of_use and line.at <= before and (found is None or line.number > found.number):
                found = line
        if found is None:
            return None
        stored = connection.execute(select(table.hash).where(table.chain == chain, table.number == found.number)).scalar()
        if stored != found.hash:
            log.error("nothing of the audit chain %s is cut off: it is not what checkpoint %d saw", chain, found.index)
            return None
        return found

    def _erasures_needed(self, connection: Connection, chain: str) -> int:
        """The first act of erasure that still explains what is missing in another chain: it stays, and all behind it."""
        table = audit_records.c
        acts = select(table.number, table.record).where(table.chain == chain, table.kind == ERASE).order_by(table.number)
        kept = connection.execute(select(table.chain, func.min(table.number).label("first")).group_by(table.chain))
        oldest = {row.chain: row.first for row in kept}
        for act in connection.execute(acts):
            facts = msgspec.json.decode(act.record)["facts"]
            for other, numbers in facts["records"].items():
                if other != chain and other in oldest and max(from_text(numbers), default=0) >= oldest[other]:
                    return int(act.number)
        return 1 << 62

    def _place(self, connection: Connection, after: str) -> tuple[float, str, int]:
        chain, _, number = after.partition("/")
        if number.isdecimal() and len(number) < 19:
            place = select(audit_records.c.at).where(audit_records.c.chain == chain, audit_records.c.number == int(number))
            at = connection.execute(place).scalar()
            if at is not None:
                return float(at), chain, int(number)
        raise InvalidRequest("`after` is no record", remedy="give chain/number of a record that is kept", param="after")


def _where(wanted: Select[Any], query: AuditQuery) -> Select[Any]:
    table = audit_records.c
    if query.since:
        wanted = wanted.where(table.at >= query.since)
    if query.until:
        wanted = wanted.where(table.at < query.until)
    for name in ("key", "model", "id", "kind"):
        if value := getattr(query, name):
            wanted = wanted.where(table[name] == value)
    if query.user:
        wanted = wanted.where(or_(table.user == query.user, table.actor == query.user))
    return wanted.where(table.status == query.status) if query.status else wanted


def _is_asked_for(row: Entry, query: AuditQuery) -> bool:
    """The same of one record that has been read."""
    if row.at < query.since or (query.until and row.at >= query.until) or (query.status and row.status != query.status):
        return False
    same = all(getattr(query, name) in ("", getattr(row, name)) for name in ("key", "model", "id", "kind"))
    return same and query.user in ("", row.user, row.actor)


def _shown(row: RowMapping) -> AuditEntry:
    told = msgspec.json.decode(row["record"])
    return AuditEntry(
        chain=row["chain"],
        number=row["number"],
        at=row["at"],
        kind=row["kind"],
        key=row["key"],
        user=row["user"],
        client=row["client"],
        actor=row["actor"],
        erased=tuple(name for name in PERSONAL if name in told["commitments"] and row[name] is None),
        facts=told["facts"],
        hash=row["hash"],
    )
