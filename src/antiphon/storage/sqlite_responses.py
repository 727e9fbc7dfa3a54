"""The store of responses of one machine's workers: one SQLite file, which outlives them.

What a worker has been told is kept, every other one finds at once. A call waits ``timeout`` seconds for the disk; a response that
was not kept by then will not be, since its caller has been told so. The file survives its workers, and the machine but for the
last moments; one that is damaged is put aside.
"""

import asyncio
import logging
import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from antiphon.core.clock import SystemClock
from antiphon.core.errors import AntiphonError
from antiphon.core.ports import Clock
from antiphon.core.response_store import (
    MAX_TURNS,
    Conversation,
    Deleted,
    Found,
    Kept,
    ResponseBounds,
    ResponseStats,
    StoredResponse,
    broken_off,
    too_large,
    too_long,
    unavailable,
)
from antiphon.storage.sqlite_file import QUIET, Options, SqliteFile, counted

TIMEOUT: Final = 1.0
"""Seconds that a call waits for the disk."""

MAX_WAITING: Final = 2_000
"""Operations under way; one more is not done."""

MAX_WAITING_BYTES: Final = 64 << 20
"""Bytes of responses that wait to be written."""

OVERHEAD: Final = 200
"""Bytes that a response takes beside its texts, about."""

LEAVE_TOGETHER: Final = 16
"""Responses that make room at once."""

SCHEMA: Final = f"""
CREATE TABLE IF NOT EXISTS responses (
  tenant TEXT, id TEXT, previous TEXT, input BLOB, response BLOB, size INTEGER, used REAL, PRIMARY KEY (tenant, id)
);
CREATE INDEX IF NOT EXISTS responses_used ON responses (used);
{counted("responses")}"""

_Place = tuple[str, str]

log = logging.getLogger(__name__)


class SqliteResponseStore:
    """Keeps responses in the file at ``path``, within ``bounds``.

    Make it on the running loop, and close it.
    """

    def __init__(
        self, path: Path, *, clock: Clock | None = None, bounds: ResponseBounds | None = None, timeout: float = TIMEOUT
    ) -> None:
        self._time = (clock or SystemClock()).time
        self.bounds = bounds or ResponseBounds()
        """May be changed at any time."""
        self._timeout = timeout
        options = Options("the store of responses", SCHEMA, "NORMAL", timeout=timeout / 2, keep_damaged=True)
        self._file = SqliteFile(path, options)
        self._waiting_bytes = 0
        self._kept = self._errors = self._evictions = 0
        self._told = -QUIET
        self._used: dict[_Place, float] = {}
        """Uses that the file does not know of yet; belongs to the thread."""

    def put(self, tenant: str, response: StoredResponse, then: Kept) -> None:
        size = len(response.response) + len(response.input) + OVERHEAD
        if size > self.bounds.max_bytes:
            then(too_large(size, self.bounds))
            return
        if self._waiting_bytes + size > MAX_WAITING_BYTES and self._waiting_bytes:
            self._errors += 1
            then(unavailable())
            return

        def run(database: sqlite3.Connection) -> int:
            return self._keep(database, tenant, response, size)

        def done(evicted: int | None) -> None:
            self._waiting_bytes -= size
            if evicted is not None:
                self._kept += 1
                self._evictions += evicted
            asked.answer(unavailable() if evicted is None else None)

        asked = _Asked(self._timeout, then, self._failed)
        self._waiting_bytes += size
        self._do(asked, run, done)

    def find(self, tenant: str, ids: Sequence[str], then: Found) -> None:
        asked = _Asked(self._timeout, then, self._failed)
        self._do(asked, lambda database: self._find(database, tenant, ids), asked.found, writes=False)

    def conversation(self, tenant: str, response: str, then: Conversation) -> None:
        asked = _Asked(self._timeout, then, self._failed)
        self._do(asked, lambda database: self._conversation(database, tenant, response), asked.found, writes=False)

    def delete(self, tenant: str, response: str, then: Deleted) -> None:
        def run(database: sqlite3.Connection) -> bool:
            known = self._look(database, tenant, response) is not None
            database.execute("DELETE FROM responses WHERE tenant = ? AND id = ?", (tenant, response))
            return known

        asked = _Asked(self._timeout, then, self._failed)
        self._do(asked, run, asked.found)

    def stats(self) -> ResponseStats:
        return ResponseStats(self._kept, self._errors, self._evictions, *self._file.kept)

    async def close(self) -> None:
        """Do what waits, and let go of the file."""
        if self._used:
            self._file.do(self._write_uses, lambda _: None)
        await self._file.close()

    # on the loop

    def _do(
        self,
        asked: "_Asked",
        run: Callable[[sqlite3.Connection], Any],
        done: Callable[[Any], None],
        *,
        writes: bool = True,
    ) -> None:
        """Have it done, unless it was answered by then that it was not."""
        if self._file.waiting >= MAX_WAITING:
            done(None)
        else:
            self._file.do(lambda database: run(database) if asked.open else None, done, writes=writes)

    def _failed(self) -> None:
        self._errors += 1
        now = time.monotonic()
        if now - self._told >= QUIET:
            self._told = now
            log.warning("the store of responses does not answer within %g s; calls go on without it", self._timeout)

    # in the thread

    def _find(self, database: sqlite3.Connection, tenant: str, ids: Sequence[str]) -> dict[str, StoredResponse] | AntiphonError:
        found: dict[str, StoredResponse] = {}
        size = 0
        for name in ids:
            turn = self._look(database, tenant, name)
            if turn is not None:
                found[name] = turn
                size += len(turn.response) + len(turn.input)
            if size > self.bounds.max_conversation:
                return too_long(name, self.bounds)
        self._use(tenant, found)
        return found

    def _conversation(self, database: sqlite3.Connection, tenant: str, response: str) -> list[StoredResponse] | AntiphonError:
        turns: list[StoredResponse] = []
        size, name = 0, response
        while name:
            turn = self._look(database, tenant, name)
            if turn is None:
                return broken_off(response, name)
            turns.append(turn)
            size += len(turn.response) + len(turn.input)
            if len(turns) > MAX_TURNS or size > self.bounds.max_conversation:
                return too_long(response, self.bounds)
            name = turn.previous
        turns.reverse()
        self._use(tenant, [turn.id for turn in turns])
        return turns

    def _look(self, database: sqlite3.Connection, tenant: str, name: str) -> StoredResponse | None:
        row = database.execute(
            "SELECT response, input, previous, used FROM responses WHERE tenant = ? AND id = ?", (tenant, name)
        ).fetchone()
        if row is None or not self._living((tenant, name), row[3]):
            return None
        return StoredResponse(name, bytes(row[0]), bytes(row[1]), row[2])

    def _living(self, place: _Place, used: float) -> bool:
        return max(used, self._used.get(place, used)) > self._time() - self.bounds.max_age

    def _use(self, tenant: str, names: Iterable[str]) -> None:
        now = self._time()
        if len(self._used) < MAX_WAITING:
            self._used.update(dict.fromkeys(((tenant, name) for name in names), now))

    def _write_uses(self, database: sqlite3.Connection) -> bool:
        used, self._used = self._used, {}
        database.executemany(
            "UPDATE responses SET used = max(used, ?) WHERE tenant = ? AND id = ?", [(at, *place) for place, at in used.items()]
        )
        return True

    def _keep(self, database: sqlite3.Connection, tenant: str, response: StoredResponse, size: int) -> int:
        """How many responses left for this one."""
        self._write_uses(database)
        database.execute("DELETE FROM responses WHERE tenant = ? AND id = ?", (tenant, response.id))
        now = self._time()
        database.execute("DELETE FROM responses WHERE used <= ?", (now - self.bounds.max_age,))
        evicted = 0
        while database.execute("SELECT bytes FROM kept").fetchone()[0] + size > self.bounds.max_bytes:
            evicted += database.execute(
                "DELETE FROM responses WHERE rowid IN (SELECT rowid FROM responses ORDER BY used LIMIT ?)", (LEAVE_TOGETHER,)
            ).rowcount
        row = (tenant, response.id, response.previous, response.input, response.response, size, now)
        database.execute("INSERT INTO responses VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        return evicted


class _Asked:
    """Somebody who waits for the disk, but not for ever. Make it on the running loop."""

    def __init__(self, timeout: float, then: Callable[[Any], None], failed: Callable[[], None]) -> None:
        self.open = True
        """Nothing was answered yet; read in the thread."""
        self._then = then
        self._failed = failed
        self._timer = asyncio.get_running_loop().call_later(timeout, self.answer, unavailable())

    def found(self, told: Any) -> None:
        """Pass on what was found; None where the file could not be asked."""
        self.answer(unavailable() if told is None else told)

    def answer(self, told: Any) -> None:
        """Pass on what was found, unless that comes too late."""
        if not self.open:
            return
        self.open = False
        self._timer.cancel()
        if isinstance(told, AntiphonError) and told.code == unavailable().code:
            self._failed()
        self._then(told)
