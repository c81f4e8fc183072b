"""Tasks from users' own files, and preparations of tasks.

Revision ID: 0002
Revises: 0001
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add what a task brings in its manager's own words, and what prepares it."""
    op.add_column("tasks", sa.Column("prepare", sa.JSON, nullable=False, server_default="[]"))
    op.add_column("tasks", sa.Column("native", sa.JSON))
