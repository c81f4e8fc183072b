"""The number of commits, which shows whether a database lacks the last of them.

Revision ID: 0012
Revises: 0011
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column."""
    op.add_column("instance", sa.Column("commits", sa.Integer, nullable=False, server_default=sa.text("0")))
