"""Whether a task is run again whose host is lost.

Revision ID: 0032
Revises: 0031
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column."""
    op.add_column("tasks", sa.Column("requeue", sa.Boolean, nullable=False, server_default=sa.true()))
