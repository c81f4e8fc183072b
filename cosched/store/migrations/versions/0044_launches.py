"""How the programs of runs were launched, by which their start-up is learnt.

Revision ID: 0044
Revises: 0043
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0044"
down_revision = "0043"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; of earlier runs nobody knows."""
    op.add_column("runs", sa.Column("launch", sa.String(16), nullable=False, server_default=sa.text("''")))
