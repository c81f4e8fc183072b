"""The database's own name, tasks, attempts, events and submission keys.

Revision ID: 0001
Revises:
"""

from __future__ import annotations

from uuid import uuid4

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables of the first version."""
    instance = op.create_table("instance", sa.Column("uuid", sa.String(36), primary_key=True))
    op.bulk_insert(instance, [{"uuid": str(uuid4())}])
    _tasks()
    _attempts()
    op.create_table(
        "events",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("time", sa.Double, nullable=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("task", sa.String(64), nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
    )
    op.create_index("events_by_task", "events", ["task", "id"])
    op.create_table(
        "submission_keys",
        sa.Column("owner", sa.String(255), nullable=False),
        sa.Column("key", sa.String(255), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("tasks", sa.JSON, nullable=False),
        sa.Column("created", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("owner", "key"),
    )


def _tasks() -> None:
    op.create_table(
        "tasks",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("number", sa.Integer, nullable=False, unique=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("application", sa.Text, nullable=False),
        sa.Column("command", sa.JSON, nullable=False),
        sa.Column("submitted", sa.Double, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("parameters", sa.JSON, nullable=False),
        sa.Column("environment", sa.JSON, nullable=False),
        sa.Column("directory", sa.Text, nullable=False),
        sa.Column("deadline", sa.Double),
        sa.Column("profile", sa.JSON),
        sa.Column("correction", sa.Text, nullable=False),
        sa.Column("count", sa.Integer, nullable=False),
        sa.Column("best_effort", sa.Boolean, nullable=False),
        sa.Column("time_limit", sa.Double),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("dispatched", sa.Double),
        sa.Column("started", sa.Double),
        sa.Column("finished", sa.Double),
        sa.Column("predicted", sa.Double),
        sa.Column("actual", sa.Double),
        sa.Column("exit_code", sa.Integer),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("hosts", sa.JSON, nullable=False),
    )
    op.create_index("tasks_by_state", "tasks", ["state", "number"])


def _attempts() -> None:
    op.create_table(
        "attempts",
        sa.Column("uuid", sa.String(64), primary_key=True),
        sa.Column("task", sa.String(64), sa.ForeignKey("tasks.id"), nullable=False),
        sa.Column("hosts", sa.JSON, nullable=False),
        sa.Column("count", sa.Integer, nullable=False),
        sa.Column("predicted", sa.Double),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("job", sa.Text, nullable=False),
        sa.Column("started", sa.Double),
        sa.Column("finished", sa.Double),
        sa.Column("exit_code", sa.Integer),
        sa.Column("reason", sa.Text, nullable=False),
    )
    op.create_index("attempts_by_task", "attempts", ["task", "created"])
    op.create_index("attempts_by_state", "attempts", ["state"])
