"""The audit trail: where its chains end, and their records."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_NAMING = ("key", "user", "client", "actor")


def upgrade() -> None:
    """Make both tables. What was recorded before has no place in a chain, and stays where it is."""
    op.create_table(
        "audit_chains",
        sa.Column("chain", sa.Text, primary_key=True),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("hash", sa.Text, nullable=False),
    )
    op.create_table(
        "audit_records",
        sa.Column("chain", sa.Text, primary_key=True),
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("at", sa.Double, nullable=False),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("kind", "id", "model")),
        sa.Column("status", sa.Integer, nullable=False),
        *(sa.Column(name, sa.Text, nullable=True) for name in _NAMING),
        sa.Column("salts", sa.JSON, nullable=False),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("record", "hash")),
    )
    op.create_index("audit_by_time", "audit_records", ["at", "chain", "number"])
    op.create_index("audit_by_key", "audit_records", ["key", "at"])
    op.create_index("audit_by_user", "audit_records", ["user", "at"])
    op.create_index("audit_by_id", "audit_records", ["id"])


def downgrade() -> None:
    """Have neither: the older schema has no place for an audit trail."""
    op.drop_table("audit_records")
    op.drop_table("audit_chains")
