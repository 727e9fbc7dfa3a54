"""Databases of a test's own, in a file or in a PostgreSQL server."""

import os
from collections.abc import Callable
from itertools import count

from sqlalchemy import Engine, create_engine, text
from sqlalchemy.engine import URL

from antiphon.storage.records.database import server_url
from tests.integration.postgres_server import PostgresServer

MakeEngine = Callable[[], Engine]

_numbers = count()


def fresh_database(server: PostgresServer) -> URL:
    """An empty database in a server."""
    name = f"test_{os.getpid()}_{next(_numbers)}"
    admin = create_engine(server_url(server.url), isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    admin.dispose()
    return server_url(server.url).set(database=name)
