"""Arrays of tasks, with the place of each task in its array.

Revision ID: 0026
Revises: 0025
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns."""
    op.add_column("tasks", sa.Column("array", sa.String(64), nullable=False, server_default=sa.text("''")))
    op.add_column("tasks", sa.Column("array_index", sa.Integer))
