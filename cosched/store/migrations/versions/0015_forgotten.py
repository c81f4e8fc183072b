"""The highest number of a task whose later changes a restored database has forgotten.

Revision ID: 0015
Revises: 0014
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column."""
    op.add_column("instance", sa.Column("forgotten", sa.Integer, nullable=False, server_default=sa.text("0")))
