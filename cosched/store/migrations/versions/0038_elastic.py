"""Elastic tasks: what their workers are, and which attempts are leads and workers.

Revision ID: 0038
Revises: 0037
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns."""
    op.add_column("tasks", sa.Column("elastic", sa.JSON))
    op.add_column("attempts", sa.Column("worker", sa.Integer, nullable=False, server_default=sa.text("0")))
    op.add_column("attempts", sa.Column("loan", sa.Boolean, nullable=False, server_default=sa.false()))
    op.add_column("attempts", sa.Column("leave_by", sa.Double))
    op.add_column("attempts", sa.Column("lead", sa.JSON))
