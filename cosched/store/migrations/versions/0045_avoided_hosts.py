"""Until when a waiting task avoids hosts on which it did not begin: a restart forgot it.

Revision ID: 0045
Revises: 0044
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0045"
down_revision = "0044"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; tasks of before avoid no host."""
    op.add_column("tasks", sa.Column("avoids", sa.JSON, nullable=False, server_default="{}"))
