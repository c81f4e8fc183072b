"""What others had of a task's shared hosts while it ran, and how much longer it was expected to run for that.

Revision ID: 0041
Revises: 0040
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns."""
    op.add_column("tasks", sa.Column("beside", sa.Double))
    op.add_column("tasks", sa.Column("contention", sa.Double, nullable=False, server_default="1"))
