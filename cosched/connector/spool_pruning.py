"""Old folders of attempts, their fences and their mailboxes leave the spool. Start at `SpoolPruner`."""

from __future__ import annotations

import shutil
import time
from typing import TYPE_CHECKING

from cosched.connector.spool import FENCES, MAILBOXES, is_attempt_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

__all__ = ["SpoolPruner", "prune_spool"]

_DAY = 86400.0
_PRUNING_PERIOD = 3600.0  # seconds between two looks


class SpoolPruner:
    """Prunes a spool, once in a period.

    The first period passes without: a folder may be all that tells how an attempt ended while no daemon was there, and
    cosched would run its task again. No folder goes within a period of its last change either.

    Args:
        spool: the folder of the attempts.
        keep_days: days after its last change for which a folder is kept.
        live: returns the attempts that still wait or run.
    """

    def __init__(self, spool: Path, keep_days: float, live: Callable[[], Collection[str]]) -> None:
        self._spool = spool
        self._keep = max(keep_days * _DAY, _PRUNING_PERIOD)
        self._live = live
        self._next = time.monotonic() + _PRUNING_PERIOD

    def look(self) -> bool:
        """Prune if it is time; return whether it was.

        Raises:
            ConnectorError: the manager does not answer.
            OSError: the spool cannot be read.
        """
        if time.monotonic() < self._next or not self._spool.is_dir():
            return False
        self._next = time.monotonic() + _PRUNING_PERIOD
        prune_spool(self._spool, time.time() - self._keep, self._live())
        return True


def prune_spool(spool: Path, before: float, live: Collection[str]) -> int:
    """Delete the folders of attempts that have not changed for long; return their number.

    Args:
        spool: the folder of the attempts; a folder whose name is no UUID stays.
        before: epoch seconds; a folder that changed later stays.
        live: attempts that stay in any case.
    """
    deleted = 0
    for folder in spool.iterdir():
        if folder.name in live or not is_attempt_folder(folder.name) or not folder.is_dir():
            continue
        if folder.stat().st_mtime < before:
            shutil.rmtree(folder, ignore_errors=True)
            deleted += 1
    for fence in (spool / FENCES).glob("*-*"):
        if fence.name not in live and not (spool / fence.name).exists() and fence.lstat().st_mtime < before:
            fence.unlink(missing_ok=True)
    for box in (spool / MAILBOXES).glob("*-*"):
        if box.name not in live and not (spool / box.name).exists() and box.lstat().st_mtime < before:
            shutil.rmtree(box, ignore_errors=True)
    return deleted
