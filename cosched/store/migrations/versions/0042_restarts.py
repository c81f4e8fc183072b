"""Elastic tasks that checkpoint: what their restarts have come to.

Revision ID: 0042
Revises: 0041
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0042"
down_revision = "0041"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column."""
    op.add_column("tasks", sa.Column("restarts", sa.JSON))
