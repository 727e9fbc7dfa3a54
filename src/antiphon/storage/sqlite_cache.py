"""The cache store of one machine's workers: one SQLite file, which outlives them.

The file is only touched in a thread of the store's own, so that no look at the disk ever holds up a loop. What is asked together
is done together; a call that waits for a slow disk goes on without it after ``timeout``. A file that is no database any more is
begun anew.
"""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Final

from antiphon.core.cache_store import ABSENT, BUSY, MAX_KEY_BYTES, OLD, UNAVAILABLE, CacheStats, Found, Namespace, Then
from antiphon.core.clock import SystemClock
from antiphon.core.ports import Clock
from antiphon.storage.cache_lookups import MAX_WAITING, TIMEOUT, CacheCounts, Lookup, count
from antiphon.storage.sqlite_file import Options, SqliteFile, counted, told_kept

MAX_BYTES: Final = 1 << 30

OVERHEAD: Final = 200
"""Bytes that an entry takes beside its key and its value, about."""

LEAVE_TOGETHER: Final = 16
"""Entries that make room at once."""

SCHEMA: Final = f"""
CREATE TABLE IF NOT EXISTS entries (
  tenant TEXT, key BLOB, version INTEGER, value BLOB, size INTEGER, ends REAL, used REAL, PRIMARY KEY (tenant, key)
);
CREATE INDEX IF NOT EXISTS entries_ends ON entries (ends);
CREATE INDEX IF NOT EXISTS entries_used ON entries (used);
CREATE TABLE IF NOT EXISTS stamps (tenant TEXT PRIMARY KEY, version INTEGER) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS claims (tenant TEXT, key BLOB, version INTEGER, ends REAL, PRIMARY KEY (tenant, key)) WITHOUT ROWID;
{counted("entries")}"""


class SqliteCacheStore:
    """Keeps at most ``max_bytes`` in the file at ``path``; what was not used for longest leaves first.

    Make it on the running loop, and close it.
    """

    def __init__(self, path: Path, *, clock: Clock | None = None, max_bytes: int = MAX_BYTES, timeout: float = TIMEOUT) -> None:
        self._time = (clock or SystemClock()).time
        self._max_bytes = max_bytes
        self._timeout = timeout
        self._counts = CacheCounts()
        self._file = SqliteFile(path, Options("the cache's file", "entries", "calls go on without it", SCHEMA, timeout=timeout))
        self._used: dict[tuple[str, bytes], float] = {}
        """Hits that the file does not know of yet; belongs to the thread."""

    def get(self, namespace: Namespace, key: bytes, then: Then, *, claim: float = 0.0) -> Found | None:
        if self._file.waiting >= MAX_WAITING:
            return count(self._counts, UNAVAILABLE)
        lookup = Lookup(then, self._counts, self._timeout)
        self._file.do(
            lambda database: self._find(database, namespace, key, claim),
            lambda found: lookup.answer(UNAVAILABLE if found is None else found),
        )
        return None

    def put(self, namespace: Namespace, key: bytes, value: bytes, ttl: float) -> None:
        if len(key) + len(value) + OVERHEAD > self._max_bytes or len(key) > MAX_KEY_BYTES:
            self._counts.refused += 1
        else:
            self._write(lambda database: self._keep(database, namespace, key, value, ttl))

    def delete(self, namespace: Namespace, key: bytes) -> None:
        def run(database: sqlite3.Connection) -> tuple[int, int]:
            if not _behind(database, namespace):
                _forget(database, namespace.tenant, key)
            return 0, 0

        self._write(run)

    def raise_version(self, namespace: Namespace) -> None:
        def run(database: sqlite3.Connection) -> tuple[int, int]:
            _behind(database, namespace)
            return 0, 0

        self._write(run)

    def stats(self) -> CacheStats:
        return self._counts.stats(*self._file.kept)

    async def close(self) -> None:
        """Do what waits, and let go of the file."""
        await self._file.close()

    # on the loop

    def _write(self, run: Callable[[sqlite3.Connection], tuple[int, int]]) -> None:
        def then(result: tuple[int, int] | None) -> None:
            if result is None:
                self._counts.errors += 1
            else:
                self._counts.evictions += result[0]
                self._counts.refused += result[1]

        if self._file.waiting >= MAX_WAITING:
            self._counts.errors += 1
        else:
            self._file.do(run, then)

    # in the thread

    def _find(self, database: sqlite3.Connection, namespace: Namespace, key: bytes, claim: float) -> Found:
        if _behind(database, namespace):
            return OLD
        now, place = self._time(), (namespace.tenant, key)
        row = database.execute("SELECT value, version, ends FROM entries WHERE tenant = ? AND key = ?", place).fetchone()
        if row is not None and row[1] == namespace.version and now < row[2]:
            if len(self._used) < MAX_WAITING:
                self._used[place] = now
            return bytes(row[0])
        if not claim:
            return ABSENT
        claimed = database.execute(
            "INSERT INTO claims VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET version = excluded.version, ends = excluded.ends "
            "WHERE version <> excluded.version OR ends <= ?",
            (*place, namespace.version, now + claim, now),
        )
        return ABSENT if claimed.rowcount else BUSY

    def _keep(self, database: sqlite3.Connection, namespace: Namespace, key: bytes, value: bytes, ttl: float) -> tuple[int, int]:
        """How many entries left for this one, and whether it was refused."""
        if _behind(database, namespace):
            return 0, 1
        now, size = self._time(), len(key) + len(value) + OVERHEAD
        _forget(database, namespace.tenant, key)
        if ttl <= 0:
            return 0, 0
        used, self._used = self._used, {}
        database.executemany(
            "UPDATE entries SET used = ? WHERE tenant = ? AND key = ?", [(at, *place) for place, at in used.items()]
        )
        evicted = self._make_room(database, size, now)
        row = (namespace.tenant, key, namespace.version, value, size, now + ttl, now)
        database.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        return evicted, 0

    def _make_room(self, database: sqlite3.Connection, size: int, now: float) -> int:
        def full() -> bool:
            return told_kept(database)[1] + size > self._max_bytes

        evicted = 0
        if full():
            database.execute("DELETE FROM entries WHERE ends <= ?", (now,))
            database.execute("DELETE FROM claims WHERE ends <= ?", (now,))
        while full():
            evicted += database.execute(
                "DELETE FROM entries WHERE rowid IN (SELECT rowid FROM entries ORDER BY used LIMIT ?)", (LEAVE_TOGETHER,)
            ).rowcount
        return evicted


def _behind(database: sqlite3.Connection, namespace: Namespace) -> bool:
    """Whether a stamp is outdated; a newer one outdates what there is."""
    row = database.execute("SELECT version FROM stamps WHERE tenant = ?", (namespace.tenant,)).fetchone()
    if row is not None and row[0] >= namespace.version:
        return bool(row[0] > namespace.version)
    database.execute("INSERT OR REPLACE INTO stamps VALUES (?, ?)", (namespace.tenant, namespace.version))
    for table in ("entries", "claims"):
        database.execute(f"DELETE FROM {table} WHERE tenant = ?", (namespace.tenant,))  # noqa: S608 - one of two words
    return False


def _forget(database: sqlite3.Connection, tenant: str, key: bytes) -> None:
    """Forget an entry and its claim."""
    database.execute("DELETE FROM entries WHERE tenant = ? AND key = ?", (tenant, key))
    database.execute("DELETE FROM claims WHERE tenant = ? AND key = ?", (tenant, key))
