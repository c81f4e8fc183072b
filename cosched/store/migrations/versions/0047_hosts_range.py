"""Hosts that a task's user has asked for: a copy of it may have as many.

Revision ID: 0047
Revises: 0046
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0047"
down_revision = "0046"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; of earlier tasks it is not known."""
    op.add_column("tasks", sa.Column("hosts_range", sa.Text, nullable=False, server_default=sa.text("''")))
