"""Opens the database of the records, and brings it to the latest schema."""

import contextlib
import logging
import os
import sqlite3
import time
from pathlib import Path
from typing import Any, Final

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DatabaseError

PATIENCE: Final = 5.0
"""Seconds to wait for a lock, or for a connection."""
_MIGRATIONS: Final = Path(__file__).with_name("migrations")
_BESIDE: Final = ("", "-wal", "-shm")

log = logging.getLogger(__name__)


def file_url(path: Path) -> URL:
    """The URL of a SQLite file."""
    return URL.create("sqlite", database=str(path))


def server_url(url: str) -> URL:
    """The URL of a PostgreSQL server, by the driver that is used here. Raises ArgumentError where it is none."""
    return make_url(url).set(drivername="postgresql+psycopg")


def connect(url: URL) -> Engine:
    """An engine, which connects when it is first used."""
    if url.get_backend_name() != "sqlite":
        return create_engine(url, pool_pre_ping=True, pool_size=2, connect_args={"connect_timeout": int(PATIENCE)})
    engine = create_engine(url, connect_args={"timeout": PATIENCE})
    event.listen(engine, "connect", _prepare)
    return engine


def upgrade(engine: Engine, revision: str = "head") -> None:
    """Bring the database to a schema, the latest one unless said otherwise; an older one loses what it had no place for.

    A SQLite file that is none, or is damaged, is put aside and begun anew. Raises SQLAlchemyError and OSError.
    """
    path = Path(engine.url.database or "") if engine.dialect.name == "sqlite" else None
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    try:
        _migrate(engine, revision)
    except DatabaseError as error:
        if path is None or type(error.orig) is not sqlite3.DatabaseError:  # its subclasses mean a full disk, a lock and so on
            raise
        engine.dispose()
        aside = _put_aside(path)
        log.error("%s is damaged (%s) and is kept as %s; records begin anew", path, error.orig, aside)
        _migrate(engine, revision)


def _migrate(engine: Engine, revision: str) -> None:
    config = Config(attributes={})
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    with engine.connect() as connection:
        config.attributes["connection"] = connection
        known = _revision(connection)
        if revision != "head" and known is not None and known > revision:
            command.downgrade(config, revision)
        else:
            command.upgrade(config, revision)
        connection.commit()


def _revision(connection: Any) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def _prepare(connection: sqlite3.Connection, _record: object) -> None:
    with contextlib.closing(connection.cursor()) as cursor:
        cursor.execute("PRAGMA journal_mode = WAL")  # readers and the writer do not wait for each other
        cursor.execute("PRAGMA synchronous = NORMAL")


def _put_aside(path: Path) -> Path:
    aside = path.with_name(f"{path.name}.damaged-{time.time_ns()}")
    for end in _BESIDE:
        with contextlib.suppress(FileNotFoundError):
            os.replace(f"{path}{end}", f"{aside}{end}")
    return aside
