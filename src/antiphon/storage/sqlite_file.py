"""A SQLite file of one machine's workers, touched in a thread of its own alone, so that no look at the disk holds up a loop."""

import asyncio
import contextlib
import logging
import sqlite3
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

TOGETHER: Final = 64
"""Operations in one transaction, at most."""

QUIET: Final = 60.0
"""Seconds between two lines in the log of the same trouble."""

log = logging.getLogger(__name__)


class Options(msgspec.Struct, frozen=True):
    """How a file is opened."""

    what: str
    """What it holds, for the log."""
    schema: str
    synchronous: Literal["OFF", "NORMAL"] = "OFF"
    """``OFF`` may lose or damage the file when the machine dies, ``NORMAL`` only the last moments of it."""
    timeout: float = 0.25
    """Seconds to wait for another process that writes."""
    keep_damaged: bool = False
    """A file that is no database any more is put aside, not deleted."""


class _Operation(msgspec.Struct, frozen=True):
    """``run`` is done in the thread; ``then`` takes its result on the loop, or None where it could not be done."""

    run: Callable[[sqlite3.Connection], Any]
    then: Callable[[Any], None]
    writes: bool


class SqliteFile:
    """The file at ``path``. What is asked together is done in one transaction; a damaged file is begun anew.

    Make it on the running loop, and close it.
    """

    def __init__(self, path: Path, options: Options) -> None:
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="sqlite")
        self.kept = (0, 0)
        """Entries and bytes, as the table of :func:`counted` told last."""
        self._path = path
        self.options = options
        self._queue: deque[_Operation] = deque()
        self._idle = asyncio.Event()
        self._idle.set()
        self._database: sqlite3.Connection | None = None
        self._inode = 0
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
        results: list[Any]
        kept = None
        try:
            database = self._connect()
            with database:
                # at once where something is written, else two that look before they write would both find nothing
                database.execute("BEGIN IMMEDIATE" if operations[0].writes else "BEGIN")
                results = [operation.run(database) for operation in operations]
            kept = database.execute("SELECT entries, bytes FROM kept").fetchone()
        except (sqlite3.Error, OSError) as error:
            self._tell(error)
            results = [None] * len(operations)
            self._mend(error)
        with contextlib.suppress(RuntimeError):  # the loop has ended, and with it whoever waits
            self._loop.call_soon_threadsafe(self._done, operations, results, kept)

    def _connect(self) -> sqlite3.Connection:
        if self._database is None:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._path.touch(mode=0o600)
            self._inode = self._path.stat().st_ino
            database = sqlite3.connect(self._path, timeout=self.options.timeout, isolation_level=None, check_same_thread=False)
            try:
                database.execute("PRAGMA journal_mode = WAL")
                database.execute(f"PRAGMA synchronous = {self.options.synchronous}")
                database.execute("PRAGMA recursive_triggers = ON")
                database.executescript(self.options.schema)
            except sqlite3.Error:
                database.close()
                raise
            self._database = database
        return self._database

    def _tell(self, error: Exception) -> None:
        text, now = str(error), time.monotonic()
        if text != self._told[0] or now - self._told[1] >= QUIET:
            self._told = (text, now)
            log.warning("%s, %s: %s", self.options.what, self._path, text)

    def _mend(self, error: Exception) -> None:
        """Connect anew next time. A damaged file leaves, unless another process has begun it anew already."""
        self._disconnect()
        if not isinstance(error, sqlite3.DatabaseError) or isinstance(error, sqlite3.OperationalError):
            return
        with contextlib.suppress(OSError):
            if self._path.stat().st_ino == self._inode:
                if self.options.keep_damaged:
                    self._path.replace(f"{self._path}.damaged")
                else:
                    self._path.unlink()
                for suffix in ("-wal", "-shm"):
                    Path(f"{self._path}{suffix}").unlink(missing_ok=True)

    def _disconnect(self) -> None:
        if self._database is not None:
            with contextlib.suppress(sqlite3.Error):
                self._database.close()
            self._database = None


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
