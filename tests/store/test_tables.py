from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from cosched.coscheduler.attempts.attempt import Attempt
from cosched.coscheduler.changes import KeyedSubmission, LogEntry
from cosched.coscheduler.handovers import Guest, Handover
from cosched.coscheduler.reservations import Reservation
from cosched.coscheduler.task import Task
from cosched.store import database, tables
from cosched.store.credentials import AccountRow, AuditEntry, SessionRow, TokenRow
from cosched.store.database import open_engine
from cosched.store.rows import Notice, columns_of

if TYPE_CHECKING:
    from sqlalchemy import Table


def test_nothing_is_left_to_migrate(tmp_path: Path) -> None:
    """Tables, columns, their types, indexes, foreign keys and what is unique."""
    engine = open_engine(f"sqlite:///{tmp_path}/cosched.db")
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, tables.metadata) == []
    engine.dispose()


def test_migrations_follow_one_another_without_a_fork() -> None:
    folder = Path(database.__file__).parent / "migrations"
    scripts = ScriptDirectory(str(folder))
    newest = max(path.name for path in (folder / "versions").glob("[0-9]*.py"))
    assert scripts.get_heads() == [newest.partition("_")[0]]
    assert len(scripts.get_bases()) == 1


@pytest.mark.parametrize(
    ("table", "kind", "own"),
    [
        (tables.tasks, Task, set()),
        (tables.attempts, Attempt, set()),
        (tables.events, LogEntry, {"id"}),
        (tables.submission_keys, KeyedSubmission, set()),
        (tables.handovers, Handover, set()),
        (tables.guests, Guest, set()),
        (tables.reservations, Reservation, set()),
        (tables.outbox, Notice, set()),
        (tables.accounts, AccountRow, set()),
        (tables.tokens, TokenRow, set()),
        (tables.sessions, SessionRow, set()),
        (tables.audit, AuditEntry, {"id"}),
    ],
)
def test_a_table_keeps_every_field_and_nothing_else(table: Table, kind: type, own: set[str]) -> None:
    assert {column.name for column in table.columns} == set(columns_of(kind)) | own
