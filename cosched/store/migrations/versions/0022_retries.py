"""Retries of programs that fail, with counts of failures and of starts in vain.

Revision ID: 0022
Revises: 0021
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns."""
    for name in ("retries", "failures", "unstarted"):
        op.add_column("tasks", sa.Column(name, sa.Integer, nullable=False, server_default=sa.text("0")))
