"""What models and users foretold of runs, to learn how far they are off.

Revision ID: 0029
Revises: 0028
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column."""
    op.add_column("runs", sa.Column("stated", sa.Double))
