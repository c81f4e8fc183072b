"""Alembic migrations of the store; `cosched.store.database` runs them at start."""
