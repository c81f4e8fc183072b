"""Days for which a database keeps ended tasks: limited when new, unlimited when older.

Revision ID: 0014
Revises: 0013
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; 0 keeps everything."""
    op.add_column("instance", sa.Column("keep_days", sa.Double, nullable=False, server_default=sa.text("0")))
