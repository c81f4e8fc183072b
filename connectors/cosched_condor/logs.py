"""The event logs of a spool: a new one is begun when the last is large, an old one goes when its jobs have ended.

HTCondor writes a job's events into the log that was named at its submission, as long as the job lives. So nothing is
ever renamed or cut: what is submitted from now on is given another log.
"""

from __future__ import annotations

import re
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["Logs"]

_NAME = re.compile(r"events(?:\.([1-9]\d*))?\.log\Z")
_LARGEST = 4 * 2**20  # bytes: some 1,500 jobs, read in three seconds after a restart
_QUIET = 600.0  # seconds without an event, after which no submission that was cut off can write into an old log


class Logs:
    """The logs; methods may be called from different threads.

    Args:
        root: the spool.
        mode: of new logs.
        largest: bytes after which a new one is begun.
    """

    def __init__(self, root: Path, mode: Callable[[], int], largest: int = _LARGEST) -> None:
        self._root = root
        self._mode = mode
        self._largest = largest
        self._guard = threading.Lock()
        self._numbers: list[int] = []  # of the logs there are, oldest first; empty before the first look

    @property
    def current(self) -> Path:
        """The log for what is submitted now; `prepare` makes it."""
        with self._guard:
            return self._path(self._look()[-1])

    def prepare(self) -> None:
        """Make the current log, and begin another where it is large.

        Raises:
            OSError: it cannot be made.
        """
        with self._guard:
            numbers = self._look()
            if self._size(numbers[-1]) > self._largest:
                numbers.append(numbers[-1] + 1)
            log = self._path(numbers[-1])
            if not log.exists():
                log.touch(exist_ok=True)
                log.chmod(self._mode() & 0o666)

    def all(self) -> list[Path]:
        """Return the logs there are, oldest first."""
        with self._guard:
            return [log for log in map(self._path, self._look()) if log.exists()]

    def discard(self, live: Callable[[Path], bool], keep: float) -> list[Path]:
        """Delete logs of which nothing more is to come, and return them.

        Args:
            live: whether a log has jobs that have not ended; all of it that is older than some minutes was read.
            keep: seconds after its last event for which a log is kept whose jobs seem to live.
        """
        gone = []
        for log in self.all()[:-1]:
            age = time.time() - log.stat().st_mtime
            if age > _QUIET and (age > keep or not live(log)):
                with self._guard:
                    log.unlink(missing_ok=True)
                    self._numbers.remove(self._number(log))
                gone.append(log)
        return gone

    def _look(self) -> list[int]:
        if not self._numbers and self._root.is_dir():
            found = {self._number(path) for path in self._root.iterdir() if _NAME.match(path.name)}
            self._numbers = sorted(found) or [0]
        return self._numbers or [0]

    def _size(self, number: int) -> int:
        log = self._path(number)
        return log.stat().st_size if log.exists() else 0

    def _path(self, number: int) -> Path:
        return self._root / (f"events.{number}.log" if number else "events.log")

    @staticmethod
    def _number(log: Path) -> int:
        match = _NAME.match(log.name)
        assert match is not None
        return int(match.group(1) or 0)
