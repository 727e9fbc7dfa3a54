"""Alembic runs this for each upgrade and downgrade, on the connection that it is given."""

from alembic import context
from sqlalchemy import Connection, text

LOCK = 0x616E7469
"""Of PostgreSQL's advisory locks: of two servers that start at once, one waits for the other."""


def _migrate(connection: Connection) -> None:
    context.configure(connection=connection, render_as_batch=True)
    with context.begin_transaction():
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
        context.run_migrations()


_migrate(context.config.attributes["connection"])
