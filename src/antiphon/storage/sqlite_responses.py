"""The store of responses of one machine's workers: one SQLite file, which outlives them.

What a worker has been told is kept, every other one finds at once. A call waits ``timeout`` seconds for the disk; a response that
was not kept by then will not be, since its caller has been told so. The file survives its workers, and the machine but for the
last moments; one that is damaged is put aside.
"""

import asyncio
import logging
import sqlite3
import time
import zlib
from collections.abc import Callable, Container, Iterable, Sequence
from itertools import islice
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
    no_room,
    too_large,
    too_long,
    unavailable,
)
from antiphon.storage.sqlite_file import QUIET, Options, SqliteFile, counted, told_kept
from antiphon.storage.sqlite_salvage import Damaged, Table

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
  tenant TEXT, id TEXT, previous TEXT, input BLOB, response BLOB, sum INTEGER, size INTEGER, used REAL, PRIMARY KEY (tenant, id)
);
CREATE INDEX IF NOT EXISTS responses_used ON responses (used);
{counted("responses")}
SELECT sum FROM responses LIMIT 0;
"""  # noqa: S608 - names of ours
"""``sum`` tells a row that was damaged on the disk, for SQLite would hand it out as it is."""

COLUMNS: Final = ("tenant", "id", "previous", "input", "response", "sum", "size", "used")

MEANWHILE: Final = "until it works again answers of /v1/responses say `store: false`, and none is continued"

_ALL: Final = ", ".join(COLUMNS)
_DONE: Final = object()
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
        self._path = path
        self._timeout = timeout
        saved = Table("responses", COLUMNS, _sound)
        options = Options("the store of responses", "responses", MEANWHILE, SCHEMA, "NORMAL", timeout / 2, saved)
        self._file = SqliteFile(path, options)
        self._waiting_bytes = 0
        self._kept = self._errors = self._evictions = 0
        self._told: dict[str, float] = {}
        """When the log was told of each kind of trouble."""
        self._used: dict[_Place, float] = {}
        """Uses that the file does not know of yet; belongs to the thread."""

    def put(self, tenant: str, response: StoredResponse, then: Kept) -> None:
        size = len(response.response) + len(response.input) + OVERHEAD
        if size > self.bounds.max_bytes:
            self._refused(then, too_large(size, self.bounds))
            return
        if self._waiting_bytes + size > MAX_WAITING_BYTES and self._waiting_bytes:
            self._failed(f"{MAX_WAITING_BYTES >> 20} MiB wait to be written, as many as may: the disk is too slow for what comes")
            then(unavailable())
            return

        def run(database: sqlite3.Connection) -> int | AntiphonError:
            return self._keep(database, tenant, response, size)

        def done(kept: int | AntiphonError | None) -> None:
            self._waiting_bytes -= size
            if isinstance(kept, AntiphonError):
                self._refused(asked.answer, kept)
                return
            if kept is not None:
                self._kept += 1
                self._evictions += kept
            asked.found(None if kept is None else _DONE)

        asked = self._asked(lambda told: then(None if told is _DONE else told))
        self._waiting_bytes += size
        self._do(asked, run, done)

    def find(self, tenant: str, ids: Sequence[str], then: Found) -> None:
        asked = self._asked(then)
        self._do(asked, lambda database: self._find(database, tenant, ids), asked.found, writes=False)

    def conversation(self, tenant: str, response: str, then: Conversation) -> None:
        asked = self._asked(then)
        self._do(asked, lambda database: self._conversation(database, tenant, response), asked.found, writes=False)

    def delete(self, tenant: str, response: str, then: Deleted) -> None:
        def run(database: sqlite3.Connection) -> bool:
            known = self._look(database, tenant, response) is not None
            database.execute("DELETE FROM responses WHERE tenant = ? AND id = ?", (tenant, response))
            return known

        asked = self._asked(then)
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
            self._say(f"{MAX_WAITING} operations wait for the disk, as many as may: it is too slow for what comes")
            done(None)
        else:
            self._file.do(lambda database: run(database) if asked.open else None, done, writes=writes)

    def _asked(self, then: Callable[[Any], None]) -> "_Asked":
        return _Asked(self._timeout, then, self._failed)

    def _failed(self, why: str) -> None:
        self._errors += 1
        if why:
            self._say(f"{why}; {MEANWHILE}")

    def _refused(self, then: Callable[[Any], None], error: AntiphonError) -> None:
        """Tell that a response is not kept, though the store works."""
        self._errors += 1
        self._say(f"a response is not kept, and its answer says `store: false`: {error}", type(error).__name__)
        then(error)

    def _say(self, text: str, kind: str = "") -> None:
        kind, now = kind or text, time.monotonic()
        if now - self._told.get(kind, -QUIET) >= QUIET:
            self._told[kind] = now
            log.warning("the store of responses, %s: %s", self._path, text)

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
        row = database.execute(f"SELECT {_ALL} FROM responses WHERE tenant = ? AND id = ?", (tenant, name)).fetchone()  # noqa: S608
        if row is None:
            return None
        if not _sound(row):
            raise Damaged("a response is not as it was written")
        _, _, previous, asked, response, _, _, used = row
        return StoredResponse(name, response, asked, previous) if self._living((tenant, name), used) else None

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

    def _keep(self, database: sqlite3.Connection, tenant: str, response: StoredResponse, size: int) -> int | AntiphonError:
        """How many responses left for this one, or why it is not kept."""
        self._write_uses(database)
        now = self._time()
        database.execute("DELETE FROM responses WHERE used <= ?", (now - self.bounds.max_age,))
        before = self._before(database, tenant, response)
        if isinstance(before, AntiphonError):
            return before
        together = sum(before.values()) + size
        if together > self.bounds.max_bytes:
            return no_room(response.id, together, self.bounds)
        database.execute("DELETE FROM responses WHERE tenant = ? AND id = ?", (tenant, response.id))
        evicted = 0
        while told_kept(database)[1] + size > self.bounds.max_bytes:
            evicted += _evict(database, before)
        row = (tenant, response.id, response.previous, response.input, response.response)
        added = (*row, _sum(row), size, now)
        database.execute(f"INSERT INTO responses ({_ALL}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", added)  # noqa: S608
        return evicted

    def _before(self, database: sqlite3.Connection, tenant: str, response: StoredResponse) -> dict[int, int] | AntiphonError:
        """The bytes of each response that this one continues, by its rowid; the error where one of them is gone."""
        sizes: dict[int, int] = {}
        name = response.previous
        while name:
            # lengths stand at the beginning of a row, so a long conversation costs no look at its texts
            row = database.execute(
                "SELECT rowid, previous, length(input) + length(response) FROM responses WHERE tenant = ? AND id = ?",
                (tenant, name),
            ).fetchone()
            if row is None:
                return broken_off(response.id, name)
            if row[0] in sizes:
                break
            sizes[row[0]] = row[2] + OVERHEAD
            name = row[1]
        return sizes


def _evict(database: sqlite3.Connection, but: Container[int]) -> int:
    """How many responses were deleted: those that were not used for longest, but none of these rowids."""
    oldest = (row[0] for row in database.execute("SELECT rowid FROM responses ORDER BY used") if row[0] not in but)
    leaving = [(rowid,) for rowid in islice(oldest, LEAVE_TOGETHER)]
    if not leaving:
        raise Damaged("the count of what is kept is wrong")
    database.executemany("DELETE FROM responses WHERE rowid = ?", leaving)
    return len(leaving)


def _sum(row: Sequence[Any]) -> int:
    """The checksum of a row: of its names, what was asked and what was answered."""
    tenant, name, previous, asked, response = row
    return zlib.crc32(response, zlib.crc32(asked, zlib.crc32(f"{tenant}\0{name}\0{previous}".encode())))


def _sound(row: Sequence[Any]) -> bool:
    """Whether a row, in the order of ``COLUMNS``, is as it was written."""
    kinds = (str, str, str, bytes, bytes, int, int, float)
    if not all(isinstance(value, kind) for value, kind in zip(row, kinds, strict=True)):
        return False
    return bool(_sum(row[:5]) == row[5] and len(row[3]) + len(row[4]) + OVERHEAD == row[6])


class _Asked:
    """Somebody who waits for the disk, but not for ever. Make it on the running loop."""

    def __init__(self, timeout: float, then: Callable[[Any], None], failed: Callable[[str], None]) -> None:
        self.open = True
        """Nothing was answered yet; read in the thread."""
        self._then = then
        self._failed = failed
        self._late = f"no answer within {timeout:g} s: the disk is slow or hangs, or what came before took that long"
        self._timer = asyncio.get_running_loop().call_later(timeout, self._give_up)

    def found(self, told: Any) -> None:
        """Pass on what was found; None where the file could not be asked, which the log has been told."""
        if told is not None:
            self.answer(told)
        elif self.open:
            self._failed("")
            self.answer(unavailable())

    def answer(self, told: Any) -> None:
        """Pass on what was found, unless that comes too late."""
        if self.open:
            self.open = False
            self._timer.cancel()
            self._then(told)

    def _give_up(self) -> None:
        self._failed(self._late)
        self.answer(unavailable())
