"""Opening a database: durable, migrated to this version's tables, and private to its user."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.script.revision import ResolutionError
from alembic.util import CommandError
from sqlalchemy import create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from cosched.errors import UserError
from cosched.store.faults import StoreFault, explained

if TYPE_CHECKING:
    import sqlite3

    from sqlalchemy import Connection, Engine

__all__ = ["label", "open_engine"]

_BUSY_MILLISECONDS = 5000
_CACHE_KIB = 8192


def label(url: str) -> str:
    """Return the database's name for people: without the password."""
    parsed = _parse(url)
    return parsed.database or "" if parsed.get_backend_name() == "sqlite" else parsed.render_as_string()


def open_engine(url: str) -> Engine:
    """Connect, bring the tables to this version and return the engine.

    Args:
        url: `sqlite:////folder/file.db`, or another URL that SQLAlchemy understands.

    Raises:
        UserError: the URL cannot be used.
        StoreFault: the database cannot be opened or written, or a newer cosched wrote it.
    """
    parsed = _parse(url)
    name = label(url)
    engine = _sqlite(parsed) if parsed.get_backend_name() == "sqlite" else _server(parsed)
    try:
        with explained(name), engine.execution_options(writes=True).begin() as connection:
            _migrate(connection, name)
    except BaseException:
        engine.dispose()
        raise
    return engine


def _parse(url: str) -> URL:
    try:
        return make_url(url)
    except ArgumentError as error:
        raise UserError(f"[database] url {url!r} is not a database URL: write sqlite:////absolute/path.db") from error


def _server(url: URL) -> Engine:
    try:
        return create_engine(url, pool_pre_ping=True)
    except (NoSuchModuleError, ModuleNotFoundError) as error:
        raise UserError(
            f"[database] url needs a driver that is not installed ({error}): install it, "
            "or use sqlite:////absolute/path.db"
        ) from error


def _sqlite(url: URL) -> Engine:
    if not url.database or url.database == ":memory:" or not Path(url.database).is_absolute():
        raise UserError(f"[database] url {str(url)!r} names no absolute file: write sqlite:////absolute/path.db")
    path = Path(url.database)
    try:
        # Tasks tell what their users do: nobody else reads the file.
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600)
    except OSError as error:
        raise StoreFault(
            f"the database {path} cannot be opened ({error.strerror}): create its folder and give "
            "the user of the daemon the right to write it"
        ) from error
    engine = create_engine(url, connect_args={"timeout": _BUSY_MILLISECONDS / 1000})
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


def _migrate(connection: Connection, name: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except (CommandError, ResolutionError) as error:
        known = ScriptDirectory.from_config(config).get_current_head()
        raise StoreFault(
            f"the database {name} was written by a newer cosched ({error}; this one knows version {known}): "
            "install that version, or name another database in [database] url"
        ) from error
