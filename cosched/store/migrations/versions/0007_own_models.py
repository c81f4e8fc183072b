"""Models that users gave with their tasks, kept to forward these tasks.

Revision ID: 0007
Revises: 0006
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the text of a task's own model."""
    op.add_column("tasks", sa.Column("model", sa.Text, nullable=False, server_default=""))
