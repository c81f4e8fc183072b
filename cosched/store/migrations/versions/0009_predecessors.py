"""Tasks that come after others.

Revision ID: 0009
Revises: 0008
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the tasks that a task comes after."""
    op.add_column("tasks", sa.Column("after", sa.JSON, nullable=False, server_default="[]"))
