"""Submit forms that users keep under a name.

Revision ID: 0035
Revises: 0034
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "forms",
        sa.Column("owner", sa.Text, primary_key=True),
        sa.Column("name", sa.String(100), primary_key=True),
        sa.Column("fields", sa.JSON, nullable=False),
        sa.Column("ahead", sa.Double),
        sa.Column("saved", sa.Double, nullable=False),
    )
