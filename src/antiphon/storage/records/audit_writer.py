"""Writes records to the end of this server's chain, within the transaction of what they tell."""

import logging
import threading
import time
from collections.abc import Callable, Sequence

import msgspec
from sqlalchemy import Connection, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from antiphon.governance.audit.record import Facts, entry, genesis
from antiphon.governance.audit.verification import Head
from antiphon.storage.audit.files import AuditFiles
from antiphon.storage.records.schema import audit_chains, audit_records

log = logging.getLogger(__name__)


class AuditWriter:
    """The end of one chain. From any thread, and beside other processes: whoever writes has the chain's row to itself."""

    def __init__(self, files: AuditFiles, clock: Callable[[], float] = time.time) -> None:
        self._files = files
        self._clock = clock
        self._chain = ""
        self._beginning = threading.Lock()
        self.unsealed = 0
        """Records that were written here since ``unsealed`` was set to 0."""

    def chain(self, connection: Connection) -> str:
        """The chain. A new one is begun where the database is behind the checkpoints of the old one: those would never fit again.

        Raises OSError where its name can be neither read nor written.
        """
        with self._beginning:
            if not self._chain:
                chain = self._files.chain()
                if self._is_behind(connection, chain):
                    log.error("the database lacks records of the audit chain %s that a checkpoint saw; a new chain begins", chain)
                    chain = self._files.new_chain()
                self._chain = chain
            return self._chain

    def lock(self, connection: Connection) -> Head:
        """Keep all others from writing to the chain until the transaction ends; where the chain ends."""
        chain = self.chain(connection)
        make = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
        locking = (
            update(audit_chains)
            .where(audit_chains.c.chain == chain)
            .values(number=audit_chains.c.number)
            .returning(audit_chains.c.number, audit_chains.c.hash)
        )
        row = connection.execute(locking).first()
        if row is None:
            begin = make(audit_chains).values(chain=chain, number=0, hash=genesis(chain)).on_conflict_do_nothing()
            connection.execute(begin)
            row = connection.execute(locking).one()
        return Head(row.number, row.hash)

    def write(self, connection: Connection, facts: Sequence[Facts]) -> Head:
        """Add records; where the chain ends then."""
        head = self.lock(connection)
        chain, now = self._chain, self._clock()
        rows = []
        for each in facts:
            made = entry(each, (chain, head.number + 1, head.hash), now)
            head = Head(made.number, made.hash)
            rows.append(msgspec.structs.asdict(made))
        connection.execute(insert(audit_records), rows)
        connection.execute(update(audit_chains).where(audit_chains.c.chain == chain).values(number=head.number, hash=head.hash))
        self.unsealed += len(rows)
        return head

    def _is_behind(self, connection: Connection, chain: str) -> bool:
        last = self._files.last(chain)
        if last is None:
            return False
        number = connection.execute(select(audit_chains.c.number).where(audit_chains.c.chain == chain)).scalar()
        if number is None or number < last.number:
            return True
        seen = select(audit_records.c.hash).where(audit_records.c.chain == chain, audit_records.c.number == last.number)
        return last.kind == "checkpoint" and connection.execute(seen).scalar() != last.hash
