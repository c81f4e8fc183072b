"""How a Dask cluster's workers spend their time: computing, fetching data from near and from far, and idle.

Start at `WorkerOverheads`, which learns it from the ends of tasks and from what workers tell of their transfers.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from cosched.dask.transfers import transfers_of
from cosched.elastic_lead import LeadOverhead

if TYPE_CHECKING:
    from collections.abc import Iterable

    from distributed import Scheduler
    from distributed.scheduler import WorkerState

    from cosched.dask.task_ends import EndedTask
    from cosched.elastic_lead import LeadOffer

__all__ = ["WorkerOverheads", "union_seconds"]

_REMEMBERED = 20  # tasks of a worker, and the one before, from whose end on its time counts
_FEWEST = 3  # of these, from which something is said
_LONG = 5.0  # seconds that fewer took, from which it is, too: who waits for data ends few tasks

_Span = tuple[float, float]  # from when until when, epoch seconds on the scheduler's clock


class WorkerOverheads:
    """Remembers the last tasks of each worker, as a `task_ends.Learner`."""

    def __init__(self, scheduler: Scheduler) -> None:
        """Set up.

        Args:
            scheduler: whose workers they are; their names are cosched's numbers of them.
        """
        self._scheduler = scheduler
        self._computed: dict[str, deque[tuple[_Span, ...]]] = {}  # of each task, by the worker's address
        self._numbers: dict[str, int] = {}  # by address, of workers that are gone, too: data may be theirs
        self._clusters: dict[int, str] = {}  # likewise

    def take(self, offer: LeadOffer) -> None:
        """Hear which cluster each worker is in."""
        self._clusters |= {0: offer.cluster, **{each.worker: each.cluster for each in offer.workers}}

    def note(self, worker: str, task: EndedTask) -> None:
        """Take the end of a task."""
        self._computed.setdefault(worker, deque(maxlen=_REMEMBERED + 1)).append(task.computed)

    def forget(self, worker: str) -> None:
        """Forget a worker that is gone."""
        self._computed.pop(worker, None)

    def now(self) -> dict[int, LeadOverhead]:
        """Return how each worker spent its last tasks' time, by cosched's number of it; none in a single cluster."""
        there = {address: each for address, each in self._scheduler.workers.items() if str(each.name).isdecimal()}
        self._numbers |= {address: int(each.name) for address, each in there.items()}
        if len({self._clusters.get(self._numbers[address], "") for address in there} - {""}) <= 1:
            return {}
        found = {address: self._overhead(worker) for address, worker in there.items()}
        return {self._numbers[address]: overhead for address, overhead in found.items() if overhead is not None}

    def _overhead(self, worker: WorkerState) -> LeadOverhead | None:
        """Return how a worker spent the time of its last tasks; None where too little is known."""
        if (computed := self._computed.get(worker.address)) is None:
            return None
        spans, fetched = [each for task in computed for each in task], transfers_of(worker)
        end = max(stop for _, stop in spans)
        if len(computed) > _REMEMBERED:
            begin = max(stop for _, stop in computed[0])
        else:
            begin = min([start for start, _ in spans] + [each.begin for each in fetched])
        seconds = end - begin
        if seconds <= 0 or (len(computed) < _FEWEST and seconds < _LONG):
            return None
        near, far, own = list[_Span](), list[_Span](), self._cluster(worker.address)
        for each in fetched:
            other = self._cluster(each.source)
            (far if own and other and own != other else near).append((each.begin, each.end))
        work = min(sum(stop - start for start, stop in _within(spans, begin, end)) / (worker.nthreads * seconds), 1.0)
        # What is fetched while it computes costs it nothing.
        inter = min(union_seconds(_within(far, begin, end)) / seconds, 1.0 - work)
        intra = min(union_seconds(_within(near, begin, end)) / seconds, 1.0 - work - inter)
        return LeadOverhead(max(1.0 - work - inter - intra, 0.0), intra, inter)

    def _cluster(self, address: str) -> str:
        """Return the cluster of a worker; empty for one that is not known."""
        return self._clusters.get(self._numbers.get(address, -1), "")


def _within(spans: Iterable[_Span], begin: float, end: float) -> list[_Span]:
    """Return what of some spans is between two times."""
    return [(max(start, begin), min(stop, end)) for start, stop in spans if start < end and stop > begin]


def union_seconds(spans: Iterable[_Span]) -> float:
    """Return how long it was within at least one of some spans of time, given by their begins and ends."""
    total, until = 0.0, float("-inf")
    for begin, end in sorted(spans):
        total += max(end - max(begin, until), 0.0)
        until = max(until, end)
    return total
