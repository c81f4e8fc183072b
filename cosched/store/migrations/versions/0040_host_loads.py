"""Hosts whose owners come back: what they took in each hour, and how much longer runs last there.

Revision ID: 0040
Revises: 0039
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table and add the column."""
    op.create_table(
        "host_loads",
        sa.Column("cause", sa.String(16), primary_key=True),
        sa.Column("host", sa.String(255), primary_key=True),
        sa.Column("hour", sa.Integer, primary_key=True),
        sa.Column("seconds", sa.Double, nullable=False),
        sa.Column("busy", sa.Double, nullable=False),
        sa.Column("taken", sa.Double, nullable=False),
        sa.Column("presences", sa.Integer, nullable=False),
        sa.Column("lengths", sa.Double, nullable=False),
        sa.Column("squares", sa.Double, nullable=False),
    )
    op.create_index("host_loads_by_hour", "host_loads", ["hour"])
    op.add_column("tasks", sa.Column("load_factor", sa.Double, nullable=False, server_default="1"))
