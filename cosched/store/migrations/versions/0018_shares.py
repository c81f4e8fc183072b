"""Shares set by command, and what users have had.

Revision ID: 0018
Revises: 0017
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "usage",
        sa.Column("user", sa.String(128), primary_key=True),
        sa.Column("host_seconds", sa.Double, nullable=False),
        sa.Column("time", sa.Double, nullable=False),
        sa.Column("claimed", sa.Double, nullable=False),
        sa.Column("window", sa.Double, nullable=False),
    )
    op.create_table(
        "shares",
        sa.Column("kind", sa.String(16), primary_key=True),
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("weight", sa.Double),
        sa.Column("budget", sa.Double),
        sa.Column("hosts", sa.Integer),
        sa.Column("waiting", sa.Integer),
        sa.Column("group", sa.String(64)),
        sa.Column("by", sa.String(64), nullable=False),
        sa.Column("time", sa.Double, nullable=False),
    )
