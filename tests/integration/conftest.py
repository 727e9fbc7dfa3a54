"""Services that several folders of tests ask for."""

import shutil
import tempfile
from pathlib import Path

import pytest

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
