"""Hosts that are kept for others.

Revision ID: 0010
Revises: 0009
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "reservations",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("hosts", sa.JSON, nullable=False),
        sa.Column("begin", sa.Double, nullable=False),
        sa.Column("end", sa.Double, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("owner", sa.String(64), nullable=False),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("released", sa.Double),
    )
