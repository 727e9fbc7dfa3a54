"""A SQLite file of one machine's workers, touched in a thread of its own alone, so that no look at the disk holds up a loop.

A transaction is done when it was committed **and** the file still lies where it was opened: one that was deleted, or put aside by
another worker, keeps nothing for the next call, so what was asked is done again with the file that lies there now.
"""

import asyncio
import contextlib
import errno
import logging
import sqlite3
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from antiphon.storage.sqlite_place import Identity, Place
from antiphon.storage.sqlite_salvage import FAILURES, Damaged, Salvaged, Table, is_damage, readable, salvage

TOGETHER: Final = 64
"""Operations in one transaction, at most."""

ATTEMPTS: Final = 4
"""Files with which a transaction is tried, where one after the other proves damaged or gone."""

QUIET: Final = 60.0
"""Seconds between two lines in the log of the same trouble."""

ROOM: Final = 64 << 10
"""Bytes on the disk that SQLite needs beside those of the file, more or less."""

log = logging.getLogger(__name__)


class Options(msgspec.Struct, frozen=True):
    """How a file is opened."""

    what: str
    """What it is, for the log."""
    entries: str
    """What it holds, for the log: a plural."""
    meanwhile: str
    """What is so while it does not work, for the log."""
    schema: str
    synchronous: Literal["OFF", "NORMAL"] = "OFF"
    """``OFF`` may lose or damage the file when the machine dies, ``NORMAL`` only the last moments of it."""
    timeout: float = 0.25
    """Seconds to wait for another process that writes."""
    saved: Table | None = None
    """What is saved of a damaged file, which is put aside; without it a damaged file is deleted."""


class _Operation(msgspec.Struct, frozen=True):
    """``run`` is done in the thread; ``then`` takes its result on the loop, or None where it could not be done."""

    run: Callable[[sqlite3.Connection], Any]
    then: Callable[[Any], None]
    writes: bool


class SqliteFile:
    """The file at ``path``. What is asked together is done in one transaction.

    A damaged file is begun anew, with what can be read of the old one where ``options`` says so.

    Make it on the running loop, and close it.
    """

    def __init__(self, path: Path, options: Options) -> None:
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="sqlite")
        self.kept = (0, 0)
        """Entries and bytes, as the table of :func:`counted` told last."""
        self._place = Place(path)
        self.options = options
        self._queue: deque[_Operation] = deque()
        self._idle = asyncio.Event()
        self._idle.set()
        self._database: sqlite3.Connection | None = None
        self._identity: Identity = ()
        self._told = ("", -QUIET)
        self._loop = asyncio.get_running_loop()

    @property
    def waiting(self) -> int:
        """Operations that have not begun."""
        return len(self._queue)

    def do(self, run: Callable[[sqlite3.Connection], Any], then: Callable[[Any], None], *, writes: bool = True) -> None:
        """Have ``run`` done in the thread, and ``then`` hear its result on the loop: None where it could not be done."""
        self._queue.append(_Operation(run, then, writes))
        if self._idle.is_set():
            self._idle.clear()
            self._loop.call_soon(self._start)

    async def close(self) -> None:
        """Do what waits, and let go of the file."""
        await self._idle.wait()
        await self._loop.run_in_executor(self.thread, self._disconnect)
        self.thread.shutdown(wait=False)

    # on the loop

    def _start(self) -> None:
        operations = [self._queue.popleft()]
        while self._queue and len(operations) < TOGETHER and self._queue[0].writes == operations[0].writes:
            operations.append(self._queue.popleft())
        self.thread.submit(self._work, operations)

    def _done(self, operations: list[_Operation], results: list[Any], kept: tuple[int, int] | None) -> None:
        if kept is not None:
            self.kept = kept
        if self._queue:
            self._start()
        else:
            self._idle.set()
        for operation, result in zip(operations, results, strict=True):
            operation.then(result)

    # in the thread

    def _work(self, operations: list[_Operation]) -> None:
        results: list[Any] = [None] * len(operations)
        kept = None
        began = time.monotonic()
        try:
            for _ in range(ATTEMPTS):
                done = self._tried(operations)
                if done is not None:
                    results, kept = done
                    break
        except Exception as error:  # whatever it is, somebody waits for an answer
            self._tell(error, time.monotonic() - began)
            self._disconnect()
        with contextlib.suppress(RuntimeError):  # the loop has ended, and with it whoever waits
            self._loop.call_soon_threadsafe(self._done, operations, results, kept)

    def _tried(self, operations: list[_Operation]) -> tuple[list[Any], tuple[int, int]] | None:
        """The results, and what is kept then; None where it is to be tried again, with another file."""
        database = self._connect()
        if self._moved():
            return None
        try:
            with database:
                # at once where something is written, else two that look before they write would both find nothing
                database.execute("BEGIN IMMEDIATE" if operations[0].writes else "BEGIN")
                results = [operation.run(database) for operation in operations]
                kept = told_kept(database)
        except FAILURES as error:
            if not is_damage(error):
                raise
            self._leave(str(error))
            return None
        return None if self._moved() else (results, kept)

    def _moved(self) -> bool:
        """Whether the file lay where it was opened no longer; then it was let go of."""
        if self._place.identity() == self._identity:
            return False
        self._leave("files beside it were deleted while it was in use")
        return True

    def _connect(self) -> sqlite3.Connection:
        if self._database is None:
            with self._place.locked(self.options.timeout):
                self._finish()
                try:
                    self._database = self._opened()
                except FAILURES as error:
                    # an error without further words: what lies there has other tables
                    if not is_damage(error) and getattr(error, "sqlite_errorcode", 0) != sqlite3.SQLITE_ERROR:
                        raise
                    self._put_aside(str(error))
                    self._finish()
                    self._database = self._opened()
                self._identity = self._place.identity()
        return self._database

    def _opened(self) -> sqlite3.Connection:
        path = self._place.path
        if not path.exists():
            self._place.clear()
            path.touch(mode=0o600)
        return self._prepared(path, "WAL")

    def _prepared(self, path: Path, journal: Literal["WAL", "DELETE"]) -> sqlite3.Connection:
        database = sqlite3.connect(path, timeout=self.options.timeout, isolation_level=None, check_same_thread=False)
        try:
            database.text_factory = readable
            database.execute(f"PRAGMA journal_mode = {journal}")
            database.execute(f"PRAGMA synchronous = {self.options.synchronous}")
            database.execute("PRAGMA recursive_triggers = ON")
            database.executescript(self.options.schema)
        except FAILURES:
            database.close()
            raise
        return database

    def _leave(self, reason: str) -> None:
        """Let go of a file that is damaged or does not lie in its place any more, and see to it that a sound one lies there."""
        with self._place.locked(self.options.timeout):
            now = self._place.identity()
            if now[0] == self._identity[0]:
                with contextlib.suppress(*FAILURES):  # for the case that -wal was deleted, and only this process can read it
                    if now != self._identity and self._database is not None:
                        self._database.execute("PRAGMA wal_checkpoint(FULL)")
                self._put_aside(reason)
            elif now[0] is None and self._place.aside() is None:
                self._place.clear()
                self._place.path.touch(mode=0o600)
                self._warn("it was deleted while it was in use, and with it %d %s; begun anew", self._held(), self.options.entries)
            elif now[0] is not None:
                self._warn("another file was put in its place, by a worker that mended it or by hand; going on with that one")
        self._disconnect()

    def _held(self) -> int:
        """How many entries are in the file that is open, wherever it is."""
        with contextlib.suppress(*FAILURES):
            if self._database is not None:
                return told_kept(self._database)[0]
        return self.kept[0]

    def _put_aside(self, reason: str) -> None:
        """Make place for another file; the lock is held."""
        if self.options.saved is None:
            self._warn("it is damaged (%s); begun anew, without what was in it", reason)
            self._place.clear()
        else:
            self._warn("it is damaged (%s); what can be read of it is copied into a new one", reason)
            self._place.put_aside()

    def _finish(self) -> None:
        """Save what can be read of a file that was put aside; the lock is held. One that could not be saved waits on."""
        aside = self._place.aside()
        if aside is None or self.options.saved is None:
            return
        self._place.clear_fresh()
        self._place.fresh.touch(mode=0o600)
        with contextlib.closing(self._prepared(self._place.fresh, "DELETE")) as fresh:
            saved = salvage(aside, fresh, self._place.fresh, self.options.saved)
        self._place.fresh.rename(self._place.path)
        self._place.settled()
        self._told_salvaged(aside, saved)

    def _told_salvaged(self, aside: Path, saved: Salvaged) -> None:
        lost = "nobody knows how many" if saved.lost is None else saved.lost
        self._warn(
            "%d %s could be read and are kept on, %s could not be read and are lost. The damaged file is %s, with what belongs to "
            "it: look at the disk and its log, and delete that file when you do not need it any more",
            *(saved.rows, self.options.entries, lost, aside),
        )

    def _tell(self, error: Exception, waited: float) -> None:
        cause, remedy = _cause(error, self._place)
        now = time.monotonic()
        if cause != self._told[0] or now - self._told[1] >= QUIET:
            self._told = (cause, now)
            self._warn("%s (after %.1f s); %s: %s", cause, waited, self.options.meanwhile, remedy)

    def _warn(self, text: str, *values: object) -> None:
        log.warning(f"%s, %s: {text}", self.options.what, self._place.path, *values)  # noqa: G004 - texts of this file

    def _disconnect(self) -> None:
        if self._database is not None:
            with contextlib.suppress(sqlite3.Error):
                self._database.close()
            self._database = None


def told_kept(database: sqlite3.Connection) -> tuple[int, int]:
    """Entries and bytes, as :func:`counted` counts them. Raises Damaged."""
    row = database.execute("SELECT entries, bytes FROM kept").fetchone()
    if row is None or not isinstance(row[0], int) or not isinstance(row[1], int):
        raise Damaged("the count of what is kept is no number")
    return row[0], row[1]


def _cause(error: Exception, place: Place) -> tuple[str, str]:
    """What keeps a file from being used, and the remedy."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    number = error.errno if isinstance(error, OSError) else None
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    # a disk without room for the files beside the database is told as an error of any kind
    room = place.room() if code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN) else None
    if (room is not None and room < ROOM) or code == sqlite3.SQLITE_FULL or number in (errno.ENOSPC, errno.EDQUOT):
        return "the disk is full", "free some space there"
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) or number == errno.ETIMEDOUT:
        held = text if number else "another process holds it locked"
        return held, "end that process, or wait for it; `fuser -v` with the file tells which it is"
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM) or isinstance(error, PermissionError):
        return f"it cannot be opened or written: {text}", "let the user of this process read and write the file and its folder"
    if code == sqlite3.SQLITE_IOERR or number == errno.EIO:
        return f"the disk fails: {text}", "look at the disk, and at the log of the system"
    return text, "the file can be moved away while no server runs; it is begun anew then"


def counted(table: str) -> str:
    """The part of a schema that counts the rows of a table, which has a ``size``, and their bytes."""
    return f"""
CREATE TABLE IF NOT EXISTS kept (one INTEGER PRIMARY KEY, bytes INTEGER, entries INTEGER);
INSERT OR IGNORE INTO kept VALUES (1, 0, 0);
CREATE TRIGGER IF NOT EXISTS came AFTER INSERT ON {table} BEGIN
  UPDATE kept SET bytes = bytes + new.size, entries = entries + 1;
END;
CREATE TRIGGER IF NOT EXISTS went AFTER DELETE ON {table} BEGIN
  UPDATE kept SET bytes = bytes - old.size, entries = entries - 1;
END;
"""  # noqa: S608 - a name of ours
