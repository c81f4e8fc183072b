"""Locks allow one daemon for a state folder and for a database.

Two daemons would run every task twice.
"""

from __future__ import annotations

import fcntl
import os
import stat
from typing import TYPE_CHECKING

from cosched.errors import SystemFault
from cosched.paths import database_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["AlreadyRunningError", "DaemonLocks"]


class AlreadyRunningError(SystemFault):
    """Another daemon has the state folder or the database."""


class DaemonLocks:
    """The locks of a running daemon; the system releases them however it ends."""

    def __init__(self, state: Path, database: str) -> None:
        """Take the locks.

        Args:
            state: the daemon's folder, made where it is missing.
            database: URL; its file is locked under any of its paths.

        Raises:
            UserError: the URL cannot be used.
            AlreadyRunningError: another daemon has one of them.
            SystemFault: a lock's file cannot be made.
        """
        self._held: list[int] = []
        self._take(lambda: _state_file(state), f"{state}", "set another [domain] state")
        file = database_file(database)
        self._take(lambda: _beside(file), f"the database {file}", "name another in [database] url")

    def release(self) -> None:
        """Release all locks that are held."""
        while self._held:
            os.close(self._held.pop())

    def _take(self, file: Callable[[], Path], name: str, remedy: str) -> None:
        try:
            place = file()
            lock = os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            self._held.append(lock)
            if os.geteuid() == 0:  # root may restore a database whose daemon runs as another user
                owner = place.parent.stat()
                os.fchown(lock, owner.st_uid, owner.st_gid)
        except OSError as error:
            self.release()
            raise SystemFault(f"{name} cannot be used ({error.strerror}): correct it, or {remedy}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self.release()
            raise AlreadyRunningError(f"another cosched runs with {name}: stop it, or {remedy}") from error


def _state_file(state: Path) -> Path:
    """Return the lock file of a state folder.

    Raises:
        SystemFault: other users may write the folder, and so put a database of theirs there.
    """
    state.mkdir(parents=True, exist_ok=True, mode=0o700)
    if stat.S_IMODE(state.stat().st_mode) & 0o022:
        raise SystemFault(f"other users may write the folder {state}: chmod go-w {state}")
    return state / "cosched.lock"


def _beside(database: Path) -> Path:
    """Return the lock file of a database: two links to one file have one."""
    found = database.resolve()
    found.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    return found.with_name(f"{found.name}.lock")
