"""Speeds of a Dask cluster's workers, by what their tasks took beside tasks of the same kind elsewhere.

Start at `WorkerSpeeds`. Kinds are Dask's prefixes of keys, such as the names of functions.
"""

from __future__ import annotations

from collections import deque
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from distributed import SchedulerPlugin
from distributed.utils import key_split

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from distributed import Scheduler

__all__ = ["WorkerSpeeds"]

_REMEMBERED = 5  # tasks of a worker
_FEWEST = 3  # of these, from which its speed is known
_USUAL = 99  # tasks of a kind whose middle one is usual
_SHORTEST = 0.01  # seconds of a task that tells of its host, not of Python


class _Ended(NamedTuple):
    """A task that a worker has ended."""

    kind: str
    seconds: float


class WorkerSpeeds(SchedulerPlugin):  # type: ignore[misc]  # distributed has no types
    """Remembers the last tasks of each worker. Dask calls its methods in the scheduler's event loop."""

    name = "cosched-worker-speeds"

    def __init__(self) -> None:
        self._ended: dict[str, deque[_Ended]] = {}  # by the worker's address
        self._seconds: dict[str, deque[float]] = {}  # by kind

    def transition(
        self,
        key: Any,
        start: str,
        finish: str,
        *_others: Any,
        worker: str = "",
        startstops: Iterable[Mapping[str, Any]] = (),
        **_more: Any,
    ) -> None:
        """Take the end of a task."""
        if (start, finish) != ("processing", "memory") or not worker:
            return
        seconds = sum(each["stop"] - each["start"] for each in startstops if each["action"] == "compute")
        if seconds >= _SHORTEST:
            kind = key_split(key)
            self._ended.setdefault(worker, deque(maxlen=_REMEMBERED)).append(_Ended(kind, seconds))
            self._seconds.setdefault(kind, deque(maxlen=_USUAL)).append(seconds)

    def remove_worker(self, *, worker: str, **_more: Any) -> None:
        """Forget a worker that is gone."""
        self._ended.pop(worker, None)

    def now(self, scheduler: Scheduler) -> dict[int, float]:
        """Return the speed of each worker of which enough is known, by cosched's number of it; about 1 is usual."""
        kinds = {each.kind for ended in self._ended.values() for each in ended}
        usual = {kind: median(self._seconds[kind]) for kind in kinds}
        return {
            int(worker.name): 1 / median(each.seconds / usual[each.kind] for each in ended)
            for address, worker in scheduler.workers.items()
            if len(ended := self._ended.get(address, ())) >= _FEWEST and str(worker.name).isdecimal()
        }
