"""Delete expired records every hour."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import structlog

from cosched.errors import SystemFault
from cosched.store.retention import Retention

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cosched.store.store import Store

__all__ = ["Housekeeping"]

_log = structlog.get_logger("cosched.housekeeping")

_EVERY = 3600.0  # seconds between two sweeps, fewer where records are kept for hours only
_SWEEPS = 10  # in the time for which these are kept
_SHORTEST = 1.0  # seconds between two sweeps at least
_AT_ONCE = 500  # tasks in one transaction: others write, too
_BREATH = 0.2  # seconds between two of them
_DAY = 86400.0


class Housekeeping(threading.Thread):
    """Prunes the database until `stop`, and sweeps other places; not started where everything is kept."""

    def __init__(
        self,
        store: Store,
        keep_days: float | None,
        now: Callable[[], float],
        sweeps: Sequence[Callable[[], object]] = (),
    ) -> None:
        """Set up.

        Args:
            store: the store to delete old records from.
            keep_days: days for which records are kept, 0 for ever; None: as the database was made.
            now: returns seconds since the epoch.
            sweeps: called every hour, too; may raise SystemFault.
        """
        super().__init__(name="housekeeping", daemon=True)
        self._sweeps = tuple(sweeps)
        self._store = store
        self._keep = (store.keep_days if keep_days is None else keep_days) * _DAY
        self._now = now
        self._stopped = threading.Event()

    def start(self) -> None:
        """Begin, if there is anything to forget."""
        if self._keep or self._sweeps:
            super().start()

    def stop(self) -> None:
        """End after the transaction under way."""
        self._stopped.set()
        if self.ident is not None:
            self.join()

    def run(self) -> None:
        """Forget at the start, and every hour."""
        while not self._stopped.is_set():
            for task in (self.sweep, *self._sweeps):
                try:
                    task()
                except SystemFault as fault:
                    _log.warning("not all that is old was forgotten; it is tried again in an hour", fault=str(fault))
            self._stopped.wait(min(_EVERY, max(_SHORTEST, self._keep / _SWEEPS or _EVERY)))

    def sweep(self) -> int:
        """Forget all that is old enough; return how many tasks went."""
        if not self._keep:
            return 0
        retention, gone = Retention(self._store, self._now() - self._keep), 0
        while not self._stopped.is_set():
            count = retention.prune(_AT_ONCE)
            gone += count
            if count < _AT_ONCE:
                break
            self._stopped.wait(_BREATH)
        if gone:
            _log.info("forgot", tasks=gone)
        return gone
