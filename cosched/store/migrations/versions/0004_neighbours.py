"""Tasks that go to other domains, and tasks that come from them.

Revision ID: 0004
Revises: 0003
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add where a task came from and went."""
    op.add_column("tasks", sa.Column("origin", sa.Text, nullable=False, server_default=sa.text("''")))
    op.add_column("tasks", sa.Column("held", sa.Boolean, nullable=False, server_default=sa.false()))
    op.add_column("tasks", sa.Column("peer", sa.Text, nullable=False, server_default=sa.text("''")))
