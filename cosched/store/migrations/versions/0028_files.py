"""Files that tasks read, and their programs, as the times of runs depend on them.

Revision ID: 0028
Revises: 0027
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns."""
    op.add_column("tasks", sa.Column("file_sizes", sa.JSON, nullable=False, server_default="{}"))
    for table in ("tasks", "runs"):
        digest = sa.Column("program_digest", sa.String(64), nullable=False, server_default=sa.text("''"))
        op.add_column(table, digest)
