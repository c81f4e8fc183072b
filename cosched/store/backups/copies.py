"""Copy a database while a daemon uses it, check backups, and restore them.

Start at `back_up` and `restore`.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from cosched.errors import SystemFault, UserError
from cosched.store.backups.inspection import DatabaseReport, inspect_database
from cosched.store.backups.last_commit import accept_state, check_complete
from cosched.store.database import StoreFault, read_only

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["accept_loss", "back_up", "restore"]


def back_up(database: Path, file: Path, *, overwrite: bool = False) -> DatabaseReport:
    """Copy a database as it is at one moment, and check the copy.

    Only its user can read the copy.

    Args:
        database: may be in use.
        file: the copy; it is there whole or not at all.
        overwrite: replace a file of this name.

    Raises:
        UserError: the file is there already, is a folder, or is the database itself.
        SystemFault: the database is damaged or lacks changes, or the file cannot be written.
    """
    if _same(file, database):
        raise UserError(f"{file} is the database itself: name another file")
    if file.is_dir():
        raise UserError(f"{file} is a folder: name a file in it")
    if file.exists() and not overwrite:
        raise UserError(f"{file} is there already: name another file, or replace it with --force")
    check_complete(database)
    with _new_file(file) as part:
        report = _checked_copy(database, part)
        part.replace(file)
    return report


def restore(file: Path, database: Path) -> Path | None:
    """Put a backup in a database's place; the caller holds the daemon's locks.

    Returns:
        the name under which the replaced database is kept; None where there was none.

    Raises:
        UserError: the file is no backup that this cosched can use; nothing was changed.
        SystemFault: the database's folder cannot be written.
    """
    if _same(file, database):
        raise UserError(f"{file} is the database itself: name a backup of it")
    with _new_file(database) as part:
        _give_to_owner(part, database if database.exists() else database.parent)
        try:
            report = _checked_copy(file, part)
        except StoreFault as fault:
            raise UserError(f"{fault}; nothing was restored") from fault
        if report.faults():
            raise UserError(f"{'; '.join(report.faults())}; nothing was restored")
        kept = _set_aside(database)
        part.replace(database)
        accept_state(database)
    return kept


def accept_loss(database: Path) -> Path | None:
    """Go on with a database that lacks changes; the caller holds the daemon's locks.

    Returns:
        the name of the copy of its present files, for a search for lost changes; None where there are
        none.

    Raises:
        SystemFault: the database cannot be read, or its folder not be written.
    """
    kept = _kept_name(database)
    files = [(database.with_name(database.name + suffix), kept + suffix) for suffix in ("", "-wal")]
    copied = False
    for file, name in files:
        if file.exists():
            with _new_file(file.with_name(name)) as part:
                _give_to_owner(part, file)
                shutil.copyfile(file, part)
                part.replace(file.with_name(name))
            copied = True
    accept_state(database)
    return database.with_name(kept) if copied else None


def _same(file: Path, database: Path) -> bool:
    return file.exists() and database.exists() and file.samefile(database)


def _give_to_owner(file: Path, other: Path) -> None:
    """Give a file that root makes to the owner of another one."""
    if os.geteuid() == 0:
        owner = other.stat()
        os.chown(file, owner.st_uid, owner.st_gid)


def _set_aside(database: Path) -> Path | None:
    """Give a database and its WAL a dated name; return it."""
    if not database.exists():
        return None
    kept = database.with_name(_kept_name(database))
    for suffix in ("-wal", ""):  # where this is cut short the database is seen to miss its WAL
        beside = database.with_name(database.name + suffix)
        if beside.exists():
            beside.rename(kept.with_name(kept.name + suffix))
    database.with_name(f"{database.name}-shm").unlink(missing_ok=True)
    return kept


def _kept_name(database: Path) -> str:
    """Return a new, dated name for a database beside it."""
    name = f"{database.name}.replaced-{time.strftime('%Y%m%dT%H%M%S')}"
    if database.with_name(name).exists():
        raise SystemFault(f"{database.with_name(name)} is there already: try again in a second")
    return name


def _checked_copy(source: Path, target: Path) -> DatabaseReport:
    """Copy a database into one file, in one step: no change meanwhile starts it anew.

    Raises:
        StoreFault: the source cannot be read, or the copy is damaged.
    """
    if not source.is_file():
        raise StoreFault(f"there is no database {source}: name another file")
    try:
        with closing(read_only(source)) as old, closing(sqlite3.connect(target)) as new:
            old.backup(new)
            new.execute("PRAGMA journal_mode=DELETE").close()  # what is copied on needs no file beside it
    except sqlite3.Error as error:
        raise StoreFault(f"{source} cannot be copied to {target} ({error}): look at both files and disks") from error
    report = inspect_database(target)
    if report.damage:
        raise StoreFault(f"{source} is damaged ({report.damage[0]}): use another backup")
    return report


@contextmanager
def _new_file(place: Path) -> Iterator[Path]:
    """Yield a new, private file beside a place; the block renames it to that place.

    It is deleted if the block fails.

    Raises:
        SystemFault: the folder cannot be written.
    """
    part = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        try:
            yield part
        finally:
            part.unlink(missing_ok=True)
        folder = os.open(place.parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
    except OSError as error:
        raise SystemFault(f"{place} cannot be written ({error.strerror}): look at its folder and disk") from error
