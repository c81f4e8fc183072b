"""Databases of earlier versions, made of current ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

__all__ = ["make_older"]

# Columns that migrations have added: the migration, the table, the column.
_ADDED = (
    ("0011", "tokens", "source"),
    ("0012", "instance", "commits"),
    ("0014", "instance", "keep_days"),
    ("0015", "instance", "forgotten"),
    ("0016", "tasks", "launch"),
    ("0016", "tasks", "processes_per_host"),
    ("0017", "tasks", "held_by"),
    ("0019", "tasks", "claim"),
    ("0020", "tasks", "begin"),
    ("0021", "tasks", "stdin"),
    ("0022", "tasks", "retries"),
    ("0022", "tasks", "failures"),
    ("0022", "tasks", "unstarted"),
    ("0023", "tasks", "priority"),
    ("0024", "tasks", "memory"),
    ("0024", "tasks", "cores"),
    ("0024", "tasks", "gpus"),
    ("0026", "tasks", "array"),
    ("0026", "tasks", "array_index"),
    ("0027", "tasks", "adopted"),
    ("0028", "tasks", "file_sizes"),
    ("0028", "tasks", "program_digest"),
    ("0028", "runs", "program_digest"),
    ("0029", "runs", "stated"),
    ("0030", "runs", "low"),
    ("0030", "runs", "high"),
    ("0031", "tasks", "array_at_most"),
    ("0032", "tasks", "requeue"),
    ("0033", "tasks", "exclusive"),
    ("0033", "attempts", "memory"),
    ("0033", "attempts", "cores"),
    ("0033", "attempts", "gpus"),
    ("0033", "attempts", "part"),
    ("0036", "tasks", "cores_range"),
    ("0036", "tasks", "processes"),
    ("0036", "tasks", "alternatives"),
    ("0037", "tasks", "stage"),
    ("0038", "tasks", "elastic"),
    ("0038", "attempts", "worker"),
    ("0038", "attempts", "loan"),
    ("0038", "attempts", "leave_by"),
    ("0038", "attempts", "lead"),
    ("0039", "tasks", "licences"),
    ("0040", "tasks", "load_factor"),
    ("0041", "tasks", "beside"),
    ("0041", "tasks", "contention"),
    ("0042", "tasks", "restarts"),
    ("0043", "tasks", "host_cores"),
    ("0044", "runs", "launch"),
    ("0045", "tasks", "avoids"),
    ("0046", "attempts", "needed_by"),
    ("0047", "tasks", "hosts_range"),
    ("0048", "tasks", "claimed_at"),
    ("0049", "tasks", "partition"),
)
# Tables that they have made.
_MADE = (
    ("0018", "usage"),
    ("0018", "shares"),
    ("0025", "runs"),
    ("0034", "notices"),
    ("0035", "forms"),
    ("0040", "host_loads"),
)
# Indexes on columns that they have added.
_INDEXED = (("0046", "attempts_by_need"),)


def make_older(connection: sqlite3.Connection, revision: str) -> None:
    """Take the columns of later migrations out of a database, and have it say that it is of this one."""
    for added, index in _INDEXED:
        if added > revision:
            connection.execute(f"DROP INDEX {index}")
    for added, table, column in _ADDED:
        if added > revision:
            connection.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
    for made, table in _MADE:
        if made > revision:
            connection.execute(f"DROP TABLE {table}")
    connection.execute("UPDATE alembic_version SET version_num = ?", (revision,))
