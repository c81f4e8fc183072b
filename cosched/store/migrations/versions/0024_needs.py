"""Memory, cores and GPUs that tasks need on each host.

Revision ID: 0024
Revises: 0023
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns."""
    for name in ("memory", "cores", "gpus"):
        op.add_column("tasks", sa.Column(name, sa.Integer, nullable=False, server_default=sa.text("0")))
