"""Speeds of a Dask cluster's workers, by what their tasks took beside tasks of the same kind elsewhere.

Start at `WorkerSpeeds`, which learns them from the ends of tasks. Kinds are Dask's prefixes of keys, such as the names
of functions.
"""

from __future__ import annotations

from collections import deque
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from distributed.utils import key_split

if TYPE_CHECKING:
    from distributed import Scheduler

    from cosched.dask.task_ends import EndedTask

__all__ = ["WorkerSpeeds"]

_REMEMBERED = 5  # tasks of a worker
_FEWEST = 3  # of these, from which its speed is known
_USUAL = 99  # tasks of a kind whose middle one is usual
_KINDS = 500  # of tasks, beyond which the one that was done longest ago is forgotten
_SHORTEST = 0.01  # seconds of a task that tells of its host, not of Python


class _Ended(NamedTuple):
    """A task that a worker has ended.

    Attributes:
        usual: seconds of the last tasks of its kind; kept here for a kind that is forgotten meanwhile.
        seconds: that it took.
    """

    usual: deque[float]
    seconds: float


class WorkerSpeeds:
    """Remembers the last tasks of each worker, as a `task_ends.Learner`."""

    def __init__(self) -> None:
        self._ended: dict[str, deque[_Ended]] = {}  # by the worker's address
        self._usual: dict[str, deque[float]] = {}  # by kind, the one that was done last at the end

    def note(self, worker: str, task: EndedTask) -> None:
        """Take the end of a task."""
        seconds = sum(end - begin for begin, end in task.computed)
        if seconds >= _SHORTEST:
            usual = self._usual_of(key_split(task.key))
            usual.append(seconds)
            self._ended.setdefault(worker, deque(maxlen=_REMEMBERED)).append(_Ended(usual, seconds))

    def forget(self, worker: str) -> None:
        """Forget a worker that is gone."""
        self._ended.pop(worker, None)

    @property
    def kinds(self) -> int:
        """Number of kinds of tasks that are remembered."""
        return len(self._usual)

    def now(self, scheduler: Scheduler) -> dict[int, float]:
        """Return the speed of each worker of which enough is known, by cosched's number of it; about 1 is usual."""
        kinds = {id(each.usual): each.usual for ended in self._ended.values() for each in ended}
        usual = {kind: median(seconds) for kind, seconds in kinds.items()}
        return {
            int(worker.name): 1 / median(each.seconds / usual[id(each.usual)] for each in ended)
            for address, worker in scheduler.workers.items()
            if len(ended := self._ended.get(address, ())) >= _FEWEST and str(worker.name).isdecimal()
        }

    def _usual_of(self, kind: str) -> deque[float]:
        """Return what tasks of a kind took; programs that name each task anew do not make the kinds grow."""
        found = self._usual.pop(kind, None) or deque(maxlen=_USUAL)
        self._usual[kind] = found
        if len(self._usual) > _KINDS:
            del self._usual[next(iter(self._usual))]
        return found
