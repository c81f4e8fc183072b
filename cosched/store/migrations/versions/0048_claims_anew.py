"""When edits had deadlines claim anew: later ones of that window give the claim back.

Revision ID: 0048
Revises: 0047
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0048"
down_revision = "0047"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; earlier tasks count as claiming since their submission."""
    op.add_column("tasks", sa.Column("claimed_at", sa.Double))
