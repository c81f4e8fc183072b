"""Planned places of tasks and progress of the search, kept over a restart.

Revision ID: 0008
Revises: 0007
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table of plans."""
    op.create_table(
        "plans",
        sa.Column("task", sa.String(64), primary_key=True),
        sa.Column("points", sa.JSON, nullable=False),
    )
