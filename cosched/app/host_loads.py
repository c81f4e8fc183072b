"""Loads of hosts by owners and foreign jobs, for people."""

from __future__ import annotations

import math
import threading
import time
from typing import TYPE_CHECKING, Protocol, TypeVar

from cosched.api.documents import HostLoadView
from cosched.prediction.loads.load_history import LoadCause, hour_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.prediction.loads.load_history import LoadHistory

__all__ = ["HostLoadService", "LoadReader"]

_HOURS = 24  # that are foretold
_KEPT = 20.0  # times as long as a processor took to make it is an answer kept
_A = TypeVar("_A")


class LoadReader(Protocol):
    """Reads the histories of loads, whichever thread keeps them."""

    def read(self, question: Callable[[LoadHistory, LoadHistory], _A]) -> _A:
        """Return the answer of a question to the histories of owners and of foreign jobs."""
        ...


class HostLoadService:
    """Answers for loads; any thread may call it.

    What is expected of a thousand hosts takes seconds to find out. So an answer serves all who ask for a while, one
    thread makes the next, and it lets go of the histories between hosts: whoever looks at hosts waits for them.
    """

    def __init__(self, reader: LoadReader | None = None, now: Callable[[], float] = lambda: 0.0) -> None:
        """Set up.

        Args:
            reader: has the histories; None where nothing is measured.
            now: returns seconds since the epoch.
        """
        self._reader = reader
        self._now = now
        self._making = threading.Lock()
        self._kept: list[HostLoadView] | None = None
        self._stale = 0.0  # seconds of the monotonic clock

    def all(self) -> list[HostLoadView]:
        """Return the load of each host at which others were seen, by name and cause."""
        if self._reader is None:
            return []
        kept = self._kept
        if kept is not None and time.monotonic() < self._stale:
            return kept
        if not self._making.acquire(blocking=kept is None):
            return kept or []  # another thread makes the next one
        try:
            if self._kept is kept:
                began = time.thread_time()
                self._kept = self._views(self._reader)
                self._stale = time.monotonic() + _KEPT * (time.thread_time() - began)
            return self._kept or []
        finally:
            self._making.release()

    def _views(self, reader: LoadReader) -> list[HostLoadView]:
        now = self._now()
        names = reader.read(lambda *both: [(history.cause, host) for history in both for host in history.hosts()])
        found = [reader.read(_question(cause, host, now)) for cause, host in names]
        return sorted(found, key=lambda view: (view.host, view.cause != LoadCause.OWNER))


def _question(cause: LoadCause, host: str, time: float) -> Callable[[LoadHistory, LoadHistory], HostLoadView]:
    return lambda owners, jobs: _view(owners if owners.cause is cause else jobs, host, time)


def _view(history: LoadHistory, host: str, time: float) -> HostLoadView:
    process, hour = history.process(host), hour_of(time)
    return HostLoadView(
        host=host,
        cause=history.cause.value,
        now=history.taken_now(host),
        coming=tuple(round(history.expected(host, each), 4) for each in range(hour, hour + _HOURS)),
        planned=history.planned(host),
        departed=history.has_departed(host),
        rate=process.rate * 3600,
        mean=process.mean,
        deviation=math.sqrt(max(process.square - process.mean**2, 0.0)),
        hours=len(history.hours(host)),
    )
