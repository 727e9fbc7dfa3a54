"""What guardrails did to a call."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the column; of earlier calls it is empty."""
    op.add_column("calls", sa.Column("guarded", sa.JSON, nullable=True))


def downgrade() -> None:
    """Forget what guardrails did."""
    with op.batch_alter_table("calls") as table:
        table.drop_column("guarded")
