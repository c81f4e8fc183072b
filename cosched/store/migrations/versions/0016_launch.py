"""Tasks say how their command is launched: on each host, or once.

Revision ID: 0016
Revises: 0015
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns; tasks of before run on each host."""
    op.add_column("tasks", sa.Column("launch", sa.String(16), nullable=False, server_default="each"))
    op.add_column("tasks", sa.Column("processes_per_host", sa.Integer, nullable=False, server_default=sa.text("1")))
