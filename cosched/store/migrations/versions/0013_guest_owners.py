"""Owners of guests are written as user:domain, which no user here can be called.

Revision ID: 0013
Revises: 0012
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from cosched.user_names import guest_owner

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Rewrite owners of the form user@domain; an invalid name is left out."""
    tasks = sa.table("tasks", sa.column("id"), sa.column("owner"), sa.column("origin"))
    connection = op.get_bind()
    for row in connection.execute(sa.select(tasks).where(tasks.c.origin != "")).all():
        owner = guest_owner(row.owner.removesuffix(f"@{row.origin}"), row.origin)
        connection.execute(tasks.update().where(tasks.c.id == row.id).values(owner=owner))
