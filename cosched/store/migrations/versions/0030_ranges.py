"""Ranges within which runs were expected, to learn how often they held.

Revision ID: 0030
Revises: 0029
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns."""
    op.add_column("runs", sa.Column("low", sa.Double))
    op.add_column("runs", sa.Column("high", sa.Double))
