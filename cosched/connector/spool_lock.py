"""A spool has one cosched: a second one would not see the first one's jobs for its own, nor for others'."""

from __future__ import annotations

import errno
import fcntl
import os
import threading
from typing import TYPE_CHECKING

from cosched.connector.interface import ConnectorError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["SpoolLock"]


class SpoolLock:
    """The lock of a spool; the system releases it however its process ends.

    Args:
        spool: the folder, for people.
        file: file in it that is locked, in a folder where no job can write.
    """

    def __init__(self, spool: Path, file: Path) -> None:
        self._spool = spool
        self._file = file
        self._guard = threading.Lock()
        self._held: int | None = None

    @property
    def is_held(self) -> bool:
        """Return whether this object has the lock."""
        return self._held is not None

    def take(self) -> None:
        """Take the lock, unless this object has it.

        Raises:
            ConnectorError: another process has it.
            OSError: the file cannot be made.
        """
        with self._guard:
            if self._held is None:
                self._held = self._locked()

    def release(self) -> None:
        """Release the lock, if this object has it."""
        with self._guard:
            if self._held is not None:
                os.close(self._held)
                self._held = None

    def _locked(self) -> int:
        lock = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            # Children do not inherit a lock of this kind: none that outlives a killed daemon keeps the next one out.
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno == errno.ENOLCK:  # a file system without locks, which HTCondor's spool may be on
                return lock
            os.close(lock)
            if error.errno not in (errno.EACCES, errno.EAGAIN):
                raise
            raise ConnectorError(
                f"the spool {self._spool} is in use by another cosched: stop that one or configure another spool",
                transient=True,
            ) from None
        return lock
