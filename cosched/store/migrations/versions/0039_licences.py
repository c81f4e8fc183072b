"""Licences of the domain that a task holds while it runs.

Revision ID: 0039
Revises: 0038
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column."""
    op.add_column("tasks", sa.Column("licences", sa.JSON, nullable=False, server_default="{}"))
