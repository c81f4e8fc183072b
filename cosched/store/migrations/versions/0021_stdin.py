"""Files that commands read as their standard input.

Revision ID: 0021
Revises: 0020
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column."""
    op.add_column("tasks", sa.Column("stdin", sa.Text, nullable=False, server_default=sa.text("''")))
