"""Finished calls, and the bundles in which they came."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_TEXTS = ("id", "endpoint", "model", "target", "principal", "error", "hour", "client", "route", "degraded")
_OWNERS = ("team", "project", "application", "user")
_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens", "cached_tokens", "reasoning_tokens", "cost")
_SECONDS = ("started_at", "duration", "ttft", "waited")
_FLAGS = ("stream", "hedged", "estimated")


def upgrade() -> None:
    """Make both tables."""
    op.create_table("bundles", sa.Column("name", sa.Text, primary_key=True), sa.Column("added_at", sa.Double, nullable=False))
    op.create_table(
        "calls",
        sa.Column("number", _NUMBER, primary_key=True, autoincrement=True),
        *(sa.Column(name, sa.Text, nullable=False) for name in (*_TEXTS, *_OWNERS)),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in _COUNTS),
        *(sa.Column(name, sa.Double, nullable=False) for name in _SECONDS),
        *(sa.Column(name, sa.Boolean, nullable=False) for name in _FLAGS),
        *(sa.Column(name, sa.Integer, nullable=False) for name in ("status", "attempts")),
        sa.Column("candidates", sa.JSON, nullable=True),
    )
    op.create_index("calls_by_time", "calls", ["started_at"])
    op.create_index("calls_by_model", "calls", ["model", "number"])


def downgrade() -> None:
    """Have neither."""
    op.drop_table("calls")
    op.drop_table("bundles")
