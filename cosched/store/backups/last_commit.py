"""The number of the last commit, kept beside a database, shows lost changes.

SQLite takes a WAL that is gone, or whose header is damaged, for an empty one, and goes on with older data. Start at
`check_complete`.
"""

from __future__ import annotations

import os
import re
import sqlite3
import threading
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.store.database import StoreFault, database_errors, read_only

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["LastCommit", "LostChangesFault", "accept_state", "check_complete", "lost_changes"]

_FORM = re.compile(rb"([0-9a-f-]{36}) (\d{20})\n")


class LostChangesFault(StoreFault):
    """The database is older than it was, or another one."""


@dataclass(frozen=True, slots=True)
class _State:
    """A state of a database.

    Attributes:
        instance: UUID of the database.
        commits: number of its last commit.
    """

    instance: str
    commits: int

    def written(self) -> bytes:
        return f"{self.instance} {self.commits:020}\n".encode()


class LastCommit:
    """The file of an open database; methods may be called from any thread."""

    def __init__(self, database: Path, instance: str, commits: int) -> None:
        """Begin with a database's state; where the file cannot be written, losses are not noticed."""
        self._descriptor = -1
        with suppress(OSError):
            self._descriptor = os.open(_beside(database), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._noted = _State(instance, -1)
        self._guard = threading.Lock()
        self.note(commits)

    def note(self, commits: int) -> None:
        """Write a commit's number down, without waiting for the disk.

        It need only survive this process.

        A failure is none of the commit's, which is durable; a file that lags behind misses a loss at worst.
        """
        with self._guard:
            if commits > self._noted.commits and self._descriptor >= 0:
                self._noted = _State(self._noted.instance, commits)
                with suppress(OSError):
                    os.pwrite(self._descriptor, self._noted.written(), 0)

    def close(self) -> None:
        """Close the file."""
        with self._guard:
            if self._descriptor >= 0:
                os.close(self._descriptor)
            self._descriptor = -1


def check_complete(database: Path) -> None:
    """Compare a database with its file, before anything of it can change.

    Raises:
        LostChangesFault: it lacks changes.
        StoreFault: it cannot be read.
    """
    lost = lost_changes(database)
    if lost:
        raise LostChangesFault(
            f"{lost}: nothing was touched; cosched database restore FILE takes a backup, "
            "cosched database accept-loss goes on with what is there"
        )


def lost_changes(database: Path) -> str:
    """Return the changes that a database lacks, in words; empty for none known.

    Raises:
        StoreFault: the database cannot be read.
    """
    known = _known(_beside(database))  # read first: a daemon that commits meanwhile is ahead of it
    if known is None:
        return ""
    found = _found(database)
    if found is None or found.instance != known.instance:
        return f"the database {database} is not the one that was used here last, or has lost all of its changes"
    missing = known.commits - found.commits
    if missing <= 0:
        return ""
    return (
        f"the database {database} lacks its last {missing} {'change' if missing == 1 else 'changes'} "
        "(its WAL is damaged or missing, or an older copy was put in its place)"
    )


def accept_state(database: Path) -> None:
    """Accept the state of a database as complete even if it lacks changes.

    No daemon may use it meanwhile.

    Which tasks the missing changes may concern is written down in it: the core must not take for a user's wish that
    one of their attempts was cancelled.

    Raises:
        StoreFault: the database or its folder cannot be used.
    """
    _note_forgotten(database)
    found, file = _found(database), _beside(database)
    try:
        if found is None:
            file.unlink(missing_ok=True)
            return
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.pwrite(descriptor, found.written(), 0)
            os.fsync(descriptor)
            if os.geteuid() == 0:
                owner = database.stat()
                os.fchown(descriptor, owner.st_uid, owner.st_gid)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise StoreFault(f"{file} cannot be written ({error.strerror}): look at its folder and disk") from error


def _note_forgotten(database: Path) -> None:
    """Write down the highest number of a task that may have changed since.

    Earlier tables have no column for it.
    """
    if not database.exists() or not database.stat().st_size:
        return
    with database_errors(str(database)), closing(sqlite3.connect(database)) as connection, connection:
        if connection.execute("SELECT 1 FROM pragma_table_info('instance') WHERE name = 'forgotten'").fetchall():
            connection.execute("UPDATE instance SET forgotten = (SELECT coalesce(max(number), 0) FROM tasks)")


def _beside(database: Path) -> Path:
    """Return the file of a database: two links to one database have one."""
    found = database.resolve()
    return found.with_name(f"{found.name}.last-commit")


def _known(file: Path) -> _State | None:
    """Return the state that was written down; None where it cannot be read."""
    try:
        match = _FORM.fullmatch(file.read_bytes())
    except OSError:
        return None
    return _State(match[1].decode(), int(match[2])) if match else None


def _found(database: Path) -> _State | None:
    """Return the state of a database; None where there is none, or nothing in it.

    Raises:
        StoreFault: it cannot be read.
    """
    if not database.exists() or not database.stat().st_size:
        return None
    with database_errors(str(database)), closing(read_only(database)) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'instance'").fetchall():
            return None
        connection.row_factory = sqlite3.Row
        row = connection.execute("SELECT * FROM instance").fetchone()
        # Earlier tables have no number of commits.
        return None if row is None else _State(row["uuid"], row["commits"] if "commits" in row.keys() else 0)  # noqa: SIM118  a row has values, not keys
