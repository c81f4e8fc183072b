"""The partition that a task's own file names: it is planned on the hosts of that alone.

Revision ID: 0049
Revises: 0048
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0049"
down_revision = "0048"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; earlier tasks are planned on all hosts, as before."""
    op.add_column("tasks", sa.Column("partition", sa.Text, nullable=False, server_default=sa.text("''")))
