"""Both sides of hand-overs between domains, and the lives of the agent.

Revision ID: 0005
Revises: 0004
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the tables."""
    op.create_table(
        "handovers",
        sa.Column("uuid", sa.String(36), primary_key=True),
        sa.Column("epoch", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("task", sa.String(64), sa.ForeignKey("tasks.id"), nullable=False),
        sa.Column("peer", sa.String(64), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("why", sa.Text, nullable=False),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("closed", sa.Double),
        sa.Column("outcome", sa.Text, nullable=False),
    )
    op.create_index("handovers_by_task", "handovers", ["task", "epoch"])
    op.create_table(
        "guests",
        sa.Column("peer", sa.String(64), primary_key=True),
        sa.Column("uuid", sa.String(36), primary_key=True),
        sa.Column("epoch", sa.Integer, nullable=False),
        sa.Column("task", sa.String(64), sa.ForeignKey("tasks.id"), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("hops", sa.Integer, nullable=False),
        sa.Column("visited", sa.JSON, nullable=False),
        sa.Column("document", sa.Text, nullable=False),
        sa.Column("created", sa.Double, nullable=False),
    )
    op.create_index("guests_by_state", "guests", ["state"])
    op.create_table(
        "lives", sa.Column("number", sa.Integer, primary_key=True), sa.Column("begun", sa.Double, nullable=False)
    )
