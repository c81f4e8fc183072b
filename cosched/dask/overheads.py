"""How a Dask cluster's workers spend their time: computing, fetching data from near and from far, and idle.

Start at `WorkerOverheads`, which learns it from the ends of tasks.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from cosched.elastic_lead import LeadOverhead

if TYPE_CHECKING:
    from collections.abc import Iterable

    from distributed import Scheduler

    from cosched.dask.task_ends import EndedTask
    from cosched.elastic_lead import LeadOffer

__all__ = ["WorkerOverheads", "union_seconds"]

_REMEMBERED = 20  # tasks of a worker
_FEWEST = 3  # of these, from which something is said


class _Ended(NamedTuple):
    """A task that a worker has ended. Times are epoch seconds on the scheduler's clock.

    Attributes:
        computed: from when until when.
        fetched: the same of each transfer, with cosched's number of the worker that it came from.
    """

    computed: tuple[tuple[float, float], ...]
    fetched: tuple[tuple[int, float, float], ...]


class WorkerOverheads:
    """Remembers the last tasks of each worker, as a `task_ends.Learner`."""

    def __init__(self, scheduler: Scheduler) -> None:
        """Set up.

        Args:
            scheduler: whose workers they are; their names are cosched's numbers of them.
        """
        self._scheduler = scheduler
        self._ended: dict[str, deque[_Ended]] = {}  # by the worker's address
        self._clusters: dict[int, str] = {}  # of workers that are gone, too: data may be theirs

    def take(self, offer: LeadOffer) -> None:
        """Hear which cluster each worker is in."""
        self._clusters |= {0: offer.cluster, **{each.worker: each.cluster for each in offer.workers}}

    def note(self, worker: str, task: EndedTask) -> None:
        """Take the end of a task."""
        fetched = [(self._number(source), begin, end) for source, begin, end in task.fetched]
        known = tuple([(number, begin, end) for number, begin, end in fetched if number is not None])
        self._ended.setdefault(worker, deque(maxlen=_REMEMBERED)).append(_Ended(task.computed, known))

    def forget(self, worker: str) -> None:
        """Forget a worker that is gone."""
        self._ended.pop(worker, None)

    def now(self) -> dict[int, LeadOverhead]:
        """Return how each worker spent its last tasks' time, by cosched's number of it; none in a single cluster."""
        numbers = {address: self._number(address) for address in self._scheduler.workers}
        there = {address: number for address, number in numbers.items() if number is not None}
        if len({self._clusters.get(number, "") for number in there.values()} - {""}) <= 1:
            return {}
        return {
            number: self._overhead(self._clusters.get(number, ""), ended, self._scheduler.workers[address].nthreads)
            for address, number in there.items()
            if len(ended := self._ended.get(address, ())) >= _FEWEST
        }

    def _overhead(self, own: str, ended: Iterable[_Ended], threads: int) -> LeadOverhead:
        """Return how a worker of a cluster spent the time from the begin of some tasks until their end."""
        tasks = list(ended)
        computed = [each for task in tasks for each in task.computed]
        near, far = list[tuple[float, float]](), list[tuple[float, float]]()
        for number, begin, end in [each for task in tasks for each in task.fetched]:
            other = self._clusters.get(number, "")
            (far if own and other and own != other else near).append((begin, end))
        every = [*computed, *near, *far]
        seconds = max(end for _, end in every) - min(begin for begin, _ in every)
        if seconds <= 0:
            return LeadOverhead()
        work = min(sum(end - begin for begin, end in computed) / (threads * seconds), 1.0)
        inter = min(union_seconds(far) / seconds, 1.0 - work)  # what is fetched while it computes costs it nothing
        intra = min(union_seconds(near) / seconds, 1.0 - work - inter)
        return LeadOverhead(max(1.0 - work - inter - intra, 0.0), intra, inter)

    def _number(self, address: str) -> int | None:
        """Return cosched's number of a worker; None for one that is not known."""
        worker = self._scheduler.workers.get(address)
        return int(worker.name) if worker is not None and str(worker.name).isdecimal() else None


def union_seconds(spans: Iterable[tuple[float, float]]) -> float:
    """Return how long it was within at least one of some spans of time, given by their begins and ends."""
    total, until = 0.0, float("-inf")
    for begin, end in sorted(spans):
        total += max(end - max(begin, until), 0.0)
        until = max(until, end)
    return total
