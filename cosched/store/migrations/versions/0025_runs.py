"""Runs that completed, from which later predictions learn.

Revision ID: 0025
Revises: 0024
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "runs",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("task", sa.String(64), nullable=False),
        sa.Column("key", sa.String(32), nullable=False),
        sa.Column("numbers", sa.JSON, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("application", sa.Text, nullable=False),
        sa.Column("hosts", sa.Integer, nullable=False),
        sa.Column("hardware", sa.Text, nullable=False),
        sa.Column("predicted", sa.Double),
        sa.Column("seconds", sa.Double, nullable=False),
        sa.Column("finished", sa.Double, nullable=False),
    )
    op.create_index("runs_by_key", "runs", ["key", "id"])
    op.create_index("runs_by_application", "runs", ["application", "id"])
    op.create_index("runs_by_end", "runs", ["finished"])
