"""Folders of attempts that ended long ago are deleted, now and then."""

from __future__ import annotations

import shutil
import time
import uuid
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

__all__ = ["Pruning", "prune"]

_DAY = 86400.0
_EVERY = 3600.0  # seconds between two looks


def prune(spool: Path, before: float, live: Collection[str]) -> int:
    """Delete the folders of attempts that nothing has touched for long; return how many.

    Args:
        spool: the folder of the attempts; what has no UUID for its name stays.
        before: epoch seconds; a folder that changed later stays.
        live: attempts that stay in any case.
    """
    deleted = 0
    for folder in spool.iterdir():
        if folder.name in live or not _names_attempt(folder.name) or not folder.is_dir():
            continue
        if folder.stat().st_mtime < before:
            shutil.rmtree(folder, ignore_errors=True)
            deleted += 1
    return deleted


class Pruning:
    """Prunes a spool when it is time.

    Args:
        spool: the folder of the attempts.
        keep_days: days after its last change for which a folder is kept.
        live: asks the manager which attempts still wait or run.
    """

    def __init__(self, spool: Path, keep_days: float, live: Callable[[], Collection[str]]) -> None:
        self._spool = spool
        self._keep = keep_days * _DAY
        self._live = live
        self._next = 0.0

    def look(self) -> bool:
        """Prune if it is time; return whether it was.

        Raises:
            ConnectorError: the manager does not answer.
            OSError: the spool cannot be read.
        """
        if time.monotonic() < self._next or not self._spool.is_dir():
            return False
        self._next = time.monotonic() + _EVERY
        prune(self._spool, time.time() - self._keep, self._live())
        return True


def _names_attempt(name: str) -> bool:
    try:
        return str(uuid.UUID(name)) == name
    except ValueError:
        return False
