"""What attempts take of shared hosts, and which tasks have theirs for themselves.

Revision ID: 0033
Revises: 0032
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns."""
    op.add_column("tasks", sa.Column("exclusive", sa.Boolean, nullable=False, server_default=sa.false()))
    for name in ("memory", "cores", "gpus"):
        op.add_column("attempts", sa.Column(name, sa.Integer, nullable=False, server_default=sa.text("0")))
    op.add_column("attempts", sa.Column("part", sa.Double, nullable=False, server_default=sa.text("1")))
