"""Services that several folders of tests ask for."""

import shutil
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import Engine

from antiphon.storage.records.database import connect, file_url
from tests.integration.databases import MakeEngine, fresh_database
from tests.integration.postgres_server import PostgresServer, programs
from tests.integration.redis_server import RedisServer


@pytest.fixture(scope="module")
def redis_server(need):
    """A Redis of the module's own."""
    program = need.program("redis-server")
    folder = Path(tempfile.mkdtemp(prefix="ap-"))  # a socket's name must be short
    server = RedisServer(program, folder)
    yield server
    server.kill()
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def postgres_server(need):
    """A PostgreSQL of the module's own."""
    place = programs() or need.missing("a PostgreSQL server", "apt install postgresql")
    folder = Path(tempfile.mkdtemp(prefix="ap-"))
    server = PostgresServer(folder, place)
    yield server
    server.stop()
    shutil.rmtree(folder)


@pytest.fixture(params=["sqlite", "postgresql"])
def make_engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MakeEngine]:
    """Each engine has a database of its own."""
    numbers, engines = count(), list[Engine]()

    def make() -> Engine:
        if request.param == "sqlite":
            engines.append(connect(file_url(tmp_path / f"{next(numbers)}.db")))
        else:
            engines.append(connect(fresh_database(request.getfixturevalue("postgres_server"))))
        return engines[-1]

    yield make
    for engine in engines:
        engine.dispose()
