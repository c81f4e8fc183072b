"""Shapes among which cosched chooses for a task.

Revision ID: 0036
Revises: 0035
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns."""
    for name in ("cores_range", "processes"):
        op.add_column("tasks", sa.Column(name, sa.Text, nullable=False, server_default=""))
    op.add_column("tasks", sa.Column("alternatives", sa.JSON, nullable=False, server_default="[]"))
