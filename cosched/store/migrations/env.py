"""Runs the migrations on the connection that `cosched.store.database` hands over, in its transaction."""

from __future__ import annotations

from alembic import context

from cosched.store.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
