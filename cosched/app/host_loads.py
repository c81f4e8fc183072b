"""What owners and foreign jobs take of hosts, for people."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol, TypeVar

from cosched.api.documents import HostLoadView
from cosched.prediction.load_history import LoadCause, hour_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.prediction.load_history import LoadHistory

__all__ = ["HostLoadService", "LoadReader"]

_HOURS = 24  # that are foretold
_A = TypeVar("_A")


class LoadReader(Protocol):
    """Reads the histories of loads, whichever thread keeps them."""

    def read(self, question: Callable[[LoadHistory, LoadHistory], _A]) -> _A:
        """Return the answer of a question to the histories of owners and of foreign jobs."""
        ...


class HostLoadService:
    """Answers for loads; any thread may call it."""

    def __init__(self, reader: LoadReader | None = None, now: Callable[[], float] = lambda: 0.0) -> None:
        """Set up.

        Args:
            reader: has the histories; None where nothing is measured.
            now: returns seconds since the epoch.
        """
        self._reader = reader
        self._now = now

    def all(self) -> list[HostLoadView]:
        """Return the load of each host at which others were seen, by name and cause."""
        if self._reader is None:
            return []
        return self._reader.read(self._views)

    def _views(self, owners: LoadHistory, jobs: LoadHistory) -> list[HostLoadView]:
        time = self._now()
        found = [_view(history, host, time) for history in (owners, jobs) for host in history.hosts()]
        return sorted(found, key=lambda view: (view.host, view.cause != LoadCause.OWNER))


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
