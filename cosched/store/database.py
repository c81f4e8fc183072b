"""The store opens its database: durable, migrated to this version's tables, private to its user.

Start at `open_engine`; `database_errors` turns errors of the driver into advice for administrators.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from sqlalchemy import create_engine, event, inspect
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, InterfaceError, SQLAlchemyError, StatementError

from cosched.errors import SystemFault
from cosched.paths import database_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection, Engine

__all__ = [
    "RefusedError",
    "StoreFault",
    "UnstorableError",
    "check_pages",
    "database_errors",
    "newest_version",
    "open_engine",
    "read_only",
]


class StoreFault(SystemFault):
    """The database failed and may work later; nothing of the step was written."""


class RefusedError(SystemFault):
    """The database refuses these changes for good; nothing of the step was written."""


class UnstorableError(SystemFault):
    """A value does not fit its column; nothing was written, and a retry fails again."""


# A part of the driver's message (lower case) → what to do about it.
_ADVICE = (
    ("database is locked", "is locked by another program: end what holds it open, then try again"),
    ("disk is full", "cannot grow, the disk is full: free some space on it"),
    ("readonly database", "is read-only: give the user of the daemon the right to write the file and its folder"),
    ("unable to open database", "cannot be opened: create its folder and let the daemon's user write it"),
    (
        "not a database",
        "is not an SQLite database, or is damaged: restore a backup with cosched database restore FILE, or name "
        "another file in [database] url",
    ),
    ("malformed", "is damaged: restore a backup with cosched database restore FILE"),
    ("disk i/o error", "cannot be read or written: look at the disk and the system's log"),
)


@contextmanager
def database_errors(name: str) -> Iterator[None]:
    """Turn database errors inside the block into one line about the database `name`.

    Raises:
        RefusedError: a written row contradicts a stored one.
        UnstorableError: a written value does not fit its column.
        StoreFault: in place of any other error of the database or its driver.
    """
    try:
        yield
    except (DataError, InterfaceError) as error:
        raise UnstorableError(f"the database {name} cannot hold a value: {str(error.orig).splitlines()[0]}") from error
    except IntegrityError as error:
        raise RefusedError(
            f"the database {name} refuses a change ({str(error.orig).splitlines()[0]}): "
            "see to it that no other cosched uses it"
        ) from error
    except (SQLAlchemyError, sqlite3.Error) as error:
        if isinstance(error, StatementError) and not isinstance(error, DBAPIError):
            raise UnstorableError(f"the database {name} cannot hold a value: {error.orig}") from error
        raise StoreFault(f"the database {name} {_advice(error)}") from error


def _advice(error: Exception) -> str:
    cause = str(error.orig if isinstance(error, DBAPIError) else error).splitlines()[0]
    for part, advice in _ADVICE:
        if part in cause.lower():
            return advice
    return f"failed ({cause}): look at the daemon's log and at [database] url"


_BUSY_MILLISECONDS = 5000
_CACHE_KIB = 8192
_KEEP_DAYS = 90.0  # of a new database; one of before keeps everything until it is told otherwise


def open_engine(url: str) -> Engine:
    """Connect, bring the tables to this version and return the engine.

    Args:
        url: `sqlite:////folder/file.db`.

    Raises:
        UserError: the URL cannot be used.
        StoreFault: the database cannot be opened or written, or a newer cosched wrote it.
    """
    file = database_file(url)
    name, engine = str(file), _sqlite(url, file)
    try:
        with database_errors(name), engine.execution_options(writes=True).begin() as connection:
            if not _is_current(connection):
                new = not inspect(connection).has_table("instance")
                _migrate(connection, name)
                if new:
                    connection.exec_driver_sql("UPDATE instance SET keep_days = ?", (_KEEP_DAYS,))
    except BaseException:
        engine.dispose()
        raise
    return engine


def _sqlite(url: str, path: Path) -> Engine:
    try:
        # Commands and arguments of users are in it: only the daemon's user may read the file.
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600)
    except OSError as error:
        raise StoreFault(
            f"the database {path} cannot be opened ({error.strerror}): create its folder and give "
            "the user of the daemon the right to write it"
        ) from error
    # As many connections as threads ask for: with a bound, a few slow questions of users would keep commits waiting.
    engine = create_engine(url, connect_args={"timeout": _BUSY_MILLISECONDS / 1000}, max_overflow=-1)
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return engine


def _prepare(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None  # The driver's own transactions leave out DDL; `_begin` starts ours.
    for pragma in (
        f"busy_timeout={_BUSY_MILLISECONDS}",
        "journal_mode=WAL",
        "synchronous=FULL",
        "foreign_keys=ON",
        f"cache_size=-{_CACHE_KIB}",
    ):
        connection.execute(f"PRAGMA {pragma}").close()


def _begin(connection: Connection) -> None:
    options = connection.get_execution_options()
    if options.get("alone", False):
        return  # a single query is a transaction by itself
    # A writer that starts as a reader can meet a lock that no waiting resolves.
    connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get("writes", False) else "BEGIN")


def read_only(file: Path) -> sqlite3.Connection:
    """Open a database without changing it.

    A connection that may write empties the WAL as it closes. Beside a database that nobody has open, on a disk that has
    become read-only, SQLite cannot make the files it shares with others: there it is told that nothing changes.

    Raises:
        sqlite3.Error: it cannot be opened.
    """
    alone = not os.access(file.parent, os.W_OK) and not file.with_name(f"{file.name}-wal").exists()
    mode = "immutable=1" if alone else "mode=ro"
    connection = sqlite3.connect(f"file:{quote(str(file))}?{mode}", uri=True, isolation_level=None)
    connection.execute("PRAGMA busy_timeout=5000").close()
    return connection


def check_pages(file: Path) -> None:
    """Check all pages of a database before its use; 330 MB take about a second.

    Raises:
        StoreFault: it is damaged, or cannot be read.
    """
    if not file.exists() or not file.stat().st_size:
        return
    with database_errors(str(file)), closing(read_only(file)) as connection:
        (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if found != "ok":
        damage = " ".join(found.split())
        raise StoreFault(
            f"the database {file} is damaged ({damage}): nothing was touched; restore a backup with cosched database "
            "restore FILE"
        )


def _is_current(connection: Connection) -> bool:
    """Return whether the last migration has been run."""
    if not inspect(connection).has_table("alembic_version"):
        return False
    found = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalars().all()
    return found == [newest_version()]


def newest_version() -> str:
    """Return the version of this program's tables.

    The file of its last migration begins with that number.
    """
    newest = max(path.name for path in (Path(__file__).parent / "migrations" / "versions").glob("[0-9]*.py"))
    return newest.partition("_")[0]


def _migrate(connection: Connection, name: str) -> None:
    # Alembic takes as long to load as the rest of the store, and is needed once for each version.
    from cosched.store.migrate import UnknownVersionError, migrate

    try:
        migrate(connection)
    except UnknownVersionError as error:
        raise StoreFault(
            f"the database {name} was written by a newer cosched ({error}): "
            "install that version, or name another database in [database] url"
        ) from error
