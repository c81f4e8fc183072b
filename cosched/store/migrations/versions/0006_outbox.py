"""Addresses to notify about a task, the outbox, and an index of ended tasks.

Revision ID: 0006
Revises: 0005
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the outbox and the addresses of tasks."""
    op.add_column("tasks", sa.Column("notify", sa.JSON, nullable=False, server_default="[]"))
    op.create_index("tasks_by_end", "tasks", ["finished"])
    op.create_table(
        "outbox",
        sa.Column("task", sa.String(64), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("target", sa.String(1024), nullable=False),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("due", sa.Double),
        sa.Column("tries", sa.Integer, nullable=False),
        sa.Column("fault", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("task", "kind", "target"),
    )
    op.create_index("outbox_by_due", "outbox", ["due"])
