"""Inspect a database and its soundness without changing it, even beside a daemon.

Start at `inspect_database`.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sqlalchemy import NullPool, create_engine, func, inspect, select
from sqlalchemy.exc import DatabaseError

from cosched.coscheduler.attempts.attempt import AttemptState
from cosched.store import tables
from cosched.store.backups.last_commit import lost_changes
from cosched.store.database import StoreFault, database_errors, newest_version, read_only
from cosched.store.retention import ended_before

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from sqlalchemy import Connection

__all__ = ["DatabaseReport", "inspect_database"]

_DAMAGES = 5  # reported at most
_DAY = 86400.0
_COUNTED = (tables.tasks, tables.attempts, tables.events, tables.audit, tables.accounts, tables.tokens)
_LIVE = [str(state) for state in AttemptState if state.live]


@dataclass(frozen=True, slots=True)
class DatabaseReport:
    """The report on a database; of a damaged one nothing is counted.

    Attributes:
        version: version of its tables.
        newest: version of the tables that this program makes.
        journal: how changes are kept, "wal" once a daemon has used it.
        bytes: size of the file.
        wal: bytes of changes beside the file that are not in it yet.
        damage: the faults that SQLite finds.
        lost: the changes that it lacks, in words; empty for none.
        dangling: number of rows that refer to rows that are not there.
        rows: number of rows by table.
        tasks: number of tasks by state.
        live_attempts: number of attempts that have not ended.
        due: number of tasks that retention deletes next.
        keep_days: days for which ended tasks are kept; 0 for ever.
        last_change: time of the log's last line, epoch seconds.
    """

    file: str
    version: str
    newest: str
    journal: str
    bytes: int
    wal: int
    damage: tuple[str, ...] = ()
    lost: str = ""
    dangling: int = 0
    rows: Mapping[str, int] = field(default_factory=dict)
    tasks: Mapping[str, int] = field(default_factory=dict)
    live_attempts: int = 0
    due: int = 0
    keep_days: float = 0.0
    last_change: float | None = None

    def faults(self) -> list[str]:
        """Return its faults as sentences; without any, a daemon can work with it."""
        found = []
        if self.damage:
            found.append(f"{self.file} is damaged ({self.damage[0]}): restore a backup with cosched database restore")
        if self.lost:
            found.append(
                f"{self.lost}: restore a backup with cosched database restore, or go on with cosched database "
                "accept-loss"
            )
        if self.dangling:
            found.append(
                f"{self.file} has {self.dangling} rows that refer to missing ones: restore a backup with "
                "cosched database restore"
            )
        if self.version > self.newest:
            found.append(
                f"{self.file} was written by a newer cosched (version {self.version}, this one knows {self.newest}): "
                "install that version"
            )
        return found


def inspect_database(file: Path, keep_days: float | None = None) -> DatabaseReport:
    """Check a database and count its contents.

    Args:
        file: the database.
        keep_days: days for which ended tasks are kept, 0 for ever; None: as the database was made.

    Raises:
        StoreFault: it cannot be read, or cosched did not make it.
    """
    if not file.is_file():
        raise StoreFault(f"there is no database {file}: name another file")
    lost = lost_changes(file)
    with _opened(file) as connection:
        journal = str(connection.exec_driver_sql("PRAGMA journal_mode").scalar_one())
        damage = _damage(connection)
        if not damage and not inspect(connection).has_table(tables.instance.name):
            raise StoreFault(lost or f"{file} is no database of cosched: name another file")
        version = "" if damage else str(connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar())
        size, wal = file.stat().st_size, _size(file.with_name(f"{file.name}-wal"))
        known = DatabaseReport(str(file), version, newest_version(), journal, size, wal, damage, lost)
        return known if damage or version > known.newest else _counted(connection, known, keep_days)


def _damage(connection: Connection) -> tuple[str, ...]:
    """Return what SQLite finds wrong, a line each; the worst damage ends its search."""
    try:
        found = connection.exec_driver_sql(f"PRAGMA integrity_check({_DAMAGES})").scalars().all()
    except DatabaseError as error:
        if "malformed" not in str(error.orig):
            raise
        return (str(error.orig),)
    return () if found == ["ok"] else tuple(" ".join(str(line).split()) for line in found)


def _counted(connection: Connection, report: DatabaseReport, keep_days: float | None) -> DatabaseReport:
    """Return the report of an undamaged database with its counts."""
    instance = connection.exec_driver_sql("SELECT * FROM instance").mappings().one()
    days = float(instance.get("keep_days", 0.0)) if keep_days is None else keep_days  # earlier tables keep everything
    tasks, attempts = tables.tasks.c, tables.attempts.c
    states = connection.execute(select(tasks.state, func.count()).group_by(tasks.state).order_by(tasks.state)).all()
    live = select(func.count()).select_from(tables.attempts).where(attempts.state.in_(_LIVE))
    due = 0
    if days:
        old = ended_before(time.time() - days * _DAY)
        due = connection.execute(select(func.count()).select_from(old.subquery())).scalar_one()
    return replace(
        report,
        dangling=len(connection.exec_driver_sql("PRAGMA foreign_key_check").all()),
        rows={
            table.name: connection.execute(select(func.count()).select_from(table)).scalar_one() for table in _COUNTED
        },
        tasks={str(state): count for state, count in states},
        live_attempts=connection.execute(live).scalar_one(),
        due=due,
        keep_days=days,
        last_change=connection.execute(select(func.max(tables.events.c.time))).scalar(),
    )


@contextmanager
def _opened(file: Path) -> Iterator[Connection]:
    """Give a connection that reads, in one transaction: all is of one moment.

    Raises:
        StoreFault: the database cannot be read.
    """
    engine = create_engine("sqlite://", creator=lambda: read_only(file), poolclass=NullPool)
    with database_errors(str(file)), engine.connect() as connection:
        connection.exec_driver_sql("BEGIN")
        yield connection


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0
