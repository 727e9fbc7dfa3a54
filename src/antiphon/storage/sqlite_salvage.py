"""What can still be read of a damaged SQLite file, row by row, copied into a fresh one.

A page that cannot be read takes the rows on it, and no others: a range of rows that breaks off is halved until what is bad in it
stands alone. A damaged page between the root of the table and its rows takes all rows below it. The first page, which tells where
the tables are, is borrowed from the fresh file where it is damaged: files of one schema have it alike.
"""

import contextlib
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

TOGETHER: Final = 8 << 20
"""Bytes of rows that are written in one transaction, and a row."""

ROW: Final = 500
"""Bytes of a row beside its texts, about."""

MAX_IN_VAIN: Final = 50_000
"""Looks that find nothing, one after the other; then there is no more to be found."""

PAGE: Final = 4096
"""Bytes of a page, as SQLite makes files."""

_LAST: Final = 1 << 62
_LENGTHS: Final = (sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_NOMEM)
_DAMAGES: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_TOOBIG)


FAILURES: Final = (sqlite3.Error, UnicodeDecodeError)
"""What reading a file raises: the latter where a name in it is no text any more."""


class Damaged(sqlite3.DatabaseError):
    """What is in the file is not what was put there."""


class _NoTablesError(Exception):
    """Nothing tells where the tables are."""


class Table(msgspec.Struct, frozen=True):
    """The table whose rows are saved. Its rows are counted in the table ``kept``, as ``sqlite_file.counted`` does it."""

    name: str
    columns: tuple[str, ...]
    sound: Callable[[tuple[Any, ...]], bool]
    """Whether a row, in the order of the columns, is as it was written."""


class Salvaged(msgspec.Struct, frozen=True):
    """What came of it."""

    rows: int = 0
    """Those that were copied."""
    lost: int | None = None
    """Those that could not be read; None where nothing tells how many there were."""


def is_damage(error: BaseException) -> bool:
    """Whether an error says that the file is damaged, and not that it cannot be had just now."""
    code = getattr(error, "sqlite_errorcode", 0)
    return isinstance(error, Damaged | UnicodeDecodeError) or code & 0xFF in _DAMAGES or code == sqlite3.SQLITE_IOERR_SHORT_READ


def salvage(damaged: Path, fresh: sqlite3.Connection, path: Path, table: Table) -> Salvaged:
    """Copy what can be read into the file at ``path``, in which there is nothing but the tables yet.

    The damaged file, and its ``-wal``, stay as they are. Raises sqlite3.Error where the fresh one cannot be written, or the damaged
    one cannot be opened for another reason than damage; OSError where there is no room for a copy.
    """
    first = path.read_bytes()[:PAGE]
    try:
        there = _copy(damaged, fresh, table)
    except _NoTablesError:
        mended = Path(f"{path}-mended")
        try:
            _borrow(first, damaged, mended)
            there = _copy(mended, fresh, table)
        except _NoTablesError:
            there = None
        finally:
            for end in ("", "-wal", "-shm"):
                Path(f"{mended}{end}").unlink(missing_ok=True)
    copied = int(fresh.execute("SELECT entries FROM kept").fetchone()[0])
    return Salvaged(copied, there - copied if there is not None and there >= copied else None)


def _copy(damaged: Path, fresh: sqlite3.Connection, table: Table) -> int | None:
    """Copy what can be read; how many rows there were. Raises _NoTablesError where it cannot be told where they are."""
    values = ", ".join("?" * len(table.columns))
    insert = f"INSERT OR IGNORE INTO {table.name} ({', '.join(table.columns)}) VALUES ({values})"  # noqa: S608 - names of ours
    # read-only, for the last connection that closes would otherwise move the -wal into the file
    with contextlib.closing(sqlite3.connect(f"{damaged.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)) as source:
        source.text_factory = readable
        rows = (row for row in _rows(source, table) if table.sound(row))
        while some := _together(rows):
            with fresh:
                fresh.execute("BEGIN IMMEDIATE")
                fresh.executemany(insert, some)
        return _there(source)


def _together(rows: Iterator[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The next rows; empty where there are no more."""
    some, size = [], 0
    for row in rows:
        some.append(row)
        size += ROW + sum(len(value) for value in row if isinstance(value, bytes))
        if size >= TOGETHER:
            break
    return some


def _borrow(first: bytes, damaged: Path, mended: Path) -> None:
    """Copy a damaged file, and its -wal, with another first page."""
    for end in ("", "-wal"):
        if Path(f"{damaged}{end}").exists():
            shutil.copyfile(f"{damaged}{end}", f"{mended}{end}")
    head = bytearray(first)
    head[18:20] = b"\2\2"  # as in a file that has a -wal
    head[28:32] = (mended.stat().st_size // PAGE).to_bytes(4, "big")  # pages
    with mended.open("r+b") as file:
        file.write(head)


def readable(raw: bytes) -> str:
    """A text of the file, whatever has become of it."""
    return raw.decode(errors="replace")


def _there(source: sqlite3.Connection) -> int | None:
    """How many rows there were."""
    try:
        row = source.execute("SELECT entries FROM kept").fetchone()
    except FAILURES as error:
        _skip(error)
        return None
    return row[0] if row and isinstance(row[0], int) else None


def _rows(source: sqlite3.Connection, table: Table) -> Iterator[tuple[Any, ...]]:
    """Every row that can be read, in the order of their rowids."""
    every = f"SELECT rowid, {', '.join(table.columns)} FROM {table.name} NOT INDEXED"  # noqa: S608 - names of ours
    some = f"{every} WHERE rowid BETWEEN ? AND ? ORDER BY rowid"
    try:
        source.execute(f"{every} LIMIT 0")
    except FAILURES as error:
        _skip(error)
        raise _NoTablesError from error
    ranges, in_vain = [(1, _last(source, table))], 0
    while ranges and in_vain < MAX_IN_VAIN:
        first, last = ranges.pop()
        start = first
        try:
            for row in source.execute(some, (first, last)):
                in_vain = 0
                start = max(start, row[0] + 1)
                yield row[1:]
        except FAILURES as error:
            _skip(error)
            in_vain += 1
            if start > last or first == last:
                continue
            middle = (start + last) // 2
            if middle < last:
                ranges.append((middle + 1, last))
            ranges.append((start, middle))


def _last(source: sqlite3.Connection, table: Table) -> int:
    """The highest rowid, or a number above it."""
    try:
        return int(source.execute(f"SELECT max(rowid) FROM {table.name} NOT INDEXED").fetchone()[0] or 0)  # noqa: S608
    except FAILURES as error:
        _skip(error)
        return _LAST


def _skip(error: sqlite3.Error | UnicodeDecodeError) -> None:
    """Go on where a row, or all there is, cannot be read. Raises the error where it could be read at another time."""
    code = getattr(error, "sqlite_errorcode", 0)
    # an error without further words: the table is not there, or is another one
    unreadable = code in (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_IOERR_READ) or code & 0xFF in _LENGTHS
    if not unreadable and not is_damage(error):
        raise error
