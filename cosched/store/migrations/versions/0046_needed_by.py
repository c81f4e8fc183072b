"""For which task an elastic one gave a host back: nobody could say it once that had begun.

Revision ID: 0046
Revises: 0045
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0046"
down_revision = "0045"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column and its index; of hosts that were given back before it is not known."""
    op.add_column("attempts", sa.Column("needed_by", sa.String(64), nullable=False, server_default=sa.text("''")))
    op.create_index("attempts_by_need", "attempts", ["needed_by"], sqlite_where=sa.text("needed_by != ''"))
