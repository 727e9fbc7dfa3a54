"""Opens the database of the records, and brings it to the latest schema."""

import contextlib
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DatabaseError, SQLAlchemyError

from antiphon.core.errors import RecordsUnavailable

PATIENCE: Final = 5.0
"""Seconds to wait for a lock, or for a connection."""
_MIGRATIONS: Final = Path(__file__).with_name("migrations")
_MIGRATING: Final = threading.Lock()
"""Alembic keeps what it is doing in globals."""
_BESIDE: Final = ("", "-wal", "-shm")

log = logging.getLogger(__name__)


class Database:
    """A database that is brought to the latest schema when it is first used. From any thread.

    While it cannot be reached every use raises RecordsUnavailable, and the next one tries again.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.mends = True
        """A damaged file is put aside and begun anew; else it stays as it is, and is told of."""
        self._upgraded = False
        self._upgrading = threading.Lock()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Connection]:
        """All that is done within is done, or none of it. In SQLite it begins with the first statement that writes."""
        with self._told(), self.engine.begin() as connection:
            yield connection

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """For reading: all statements within see the same moment."""
        with self._told(), self.engine.connect() as connection:
            if connection.dialect.name == "sqlite":
                connection.exec_driver_sql("BEGIN")
            else:
                connection.execution_options(isolation_level="REPEATABLE READ")
            yield connection
            connection.rollback()

    def settle(self, *, whole: bool = False) -> None:
        """SQLite: see to it that what was committed survives the loss of power; ``whole``: and that nothing older is in the log."""
        if self.engine.dialect.name == "sqlite":
            with self._told(), self.engine.connect() as connection:
                connection.exec_driver_sql(f"PRAGMA wal_checkpoint({'TRUNCATE' if whole else 'PASSIVE'})")

    def revisions(self) -> tuple[str, ...]:
        """The schemas that there are, the oldest first."""
        found = ScriptDirectory.from_config(_alembic()).walk_revisions()
        return tuple(sorted(each.revision for each in found))

    def revision(self) -> str | None:
        """The schema that the database has; None where it has none. It is not upgraded for that."""
        with self._told(upgraded=True), self.engine.connect() as connection:
            return _revision(connection)

    def migrate(self, revision: str) -> None:
        """Bring it to a schema; an older one loses what it has no place for."""
        with self._told(upgraded=True):
            upgrade(self.engine, revision)

    def close(self) -> None:
        """Close all connections; the next use opens them again."""
        self.engine.dispose()

    @contextlib.contextmanager
    def _told(self, *, upgraded: bool = False) -> Iterator[None]:
        try:
            with self._upgrading:
                if not self._upgraded and not upgraded:
                    upgrade(self.engine, mends=self.mends)
                    self._upgraded = True
            yield
        except (SQLAlchemyError, OSError) as error:
            cause = getattr(error, "orig", None) or error
            reason = str(cause).strip().partition("\n")[0]
            raise RecordsUnavailable(f"the database of the records cannot be used: {reason}") from None


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


def upgrade(engine: Engine, revision: str = "head", *, mends: bool = True) -> None:
    """Bring the database to a schema, the latest one unless said otherwise; an older one loses what it had no place for.

    A SQLite file that is none, or is damaged, is put aside and begun anew, if it ``mends``. Raises SQLAlchemyError and OSError, and
    RecordsUnavailable for a damaged file that stays.
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
        if not mends:
            remedy = "keep it for whoever looks into that, and restore a backup"
            raise RecordsUnavailable(f"{path} is damaged ({error.orig}); it was left as it is", remedy=remedy) from error
        aside = _put_aside(path)
        log.error("%s is damaged (%s) and is kept as %s; records begin anew", path, error.orig, aside)
        _migrate(engine, revision)


def _migrate(engine: Engine, revision: str) -> None:
    config = _alembic()
    with _MIGRATING, engine.connect() as connection:
        config.attributes["connection"] = connection
        known = _revision(connection)
        if revision != "head" and known is not None and known > revision:
            command.downgrade(config, revision)
        else:
            command.upgrade(config, revision)
        connection.commit()


def _alembic() -> Config:
    config = Config(attributes={})
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    return config


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
