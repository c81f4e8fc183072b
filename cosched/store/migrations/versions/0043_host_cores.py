"""On how many cores of each host tasks ran last.

Revision ID: 0043
Revises: 0042
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0043"
down_revision = "0042"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column, with what the last attempts took of shared hosts."""
    op.add_column("tasks", sa.Column("host_cores", sa.Integer, nullable=False, server_default=sa.text("0")))
    op.execute(
        "UPDATE tasks SET host_cores = coalesce((SELECT cores FROM attempts WHERE attempts.task = tasks.id"
        " AND worker = 0 ORDER BY created DESC LIMIT 1), 0) WHERE hosts <> '[]' AND peer = ''"
    )
