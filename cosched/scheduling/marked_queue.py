"""A queue placed once, with marks from which its tasks can be placed anew behind one more."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cosched.scheduling.free_by_class import FreeByClass
from cosched.scheduling.widths import planned_times

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from cosched.scheduling.free_by_class import Parts
    from cosched.scheduling.problem import Plan, Problem

__all__ = ["MarkedQueue", "Try", "Way"]

_MARKS = 16  # places in a queue where a task may go in; quarters of the queue are among them
_HORIZON = 60  # tasks that a try places anew at least; those behind are taken to be delayed alike


class Way(NamedTuple):
    """How a task may run.

    Attributes:
        kind: the class whose hosts alone it takes; -1 for hosts of any.
        hosts: how many.
        times: run time on them by the slowest class among them, in seconds; infinite where that is not to be.
    """

    kind: int
    hosts: int
    times: tuple[float, ...]


class Try(NamedTuple):
    """A queue with one more task.

    Attributes:
        late: (n,) in planned order, seconds from the other tasks' deadlines to their ends.
        end: when the one more ends.
        latest: when the last of all ends.
        placed: how many tasks were placed.
    """

    late: NDArray[np.float64]
    end: float
    latest: float
    placed: int


class MarkedQueue:
    """A plan of independent tasks on hosts that stay.

    Attributes:
        places: how many tasks are ahead of each mark, ascending; the last mark is the end.
        free: by mark and class: when the hosts become free, ascending.
        worth: by class: what one of its hosts gets done in a second, as a share of what all hosts do.
        late: (n,) in planned order, seconds from each task's deadline to its end.
        latest: when the last one ends.
    """

    def __init__(self, problem: Problem, plan: Plan) -> None:
        order = plan.order
        release, times = problem.release[order], planned_times(problem, plan)[:, order]
        tasks = _Alike if len(times) == 1 else _Apart
        self._tasks = tasks(plan.counts[order].tolist(), times, release.tolist())
        self._deadline = problem.deadline[order]
        self.places = sorted({len(order) * step // _MARKS for step in range(_MARKS + 1)})
        self.free = [FreeByClass.of(problem).rows]
        ends: list[float] = []
        for begin, end in pairwise(self.places):
            rows = [row.copy() for row in self.free[-1]]
            ends += self._tasks.place(rows, begin, end)
            self.free.append(rows)
        self.worth = _worth(self.free[0], times)
        ended = np.fromiter(ends, np.float64, len(ends))
        self.late = ended - self._deadline
        self.latest = float(ended.max(initial=0.0))

    def with_one_more(self, mark: int, way: Way, ready: float) -> Try:
        """Place one more task at a mark, no sooner than it is ready, and anew those behind it as far as the horizon."""
        begin, rows = self.places[mark], [row.copy() for row in self.free[mark]]
        until = min(bisect_left(self.places, begin + _HORIZON), len(self.places) - 1)
        end = self.places[until]
        free = FreeByClass(rows)
        _, own, parts = free.first_to_end(way.times, way.hosts, ready)
        free.take(parts, own)
        ends = self._tasks.place(rows, begin, end)
        late = self.late.copy()
        late[begin:end] = ends - self._deadline[begin:end]
        for row, before, worth in zip(rows, self.free[until], self.worth, strict=True):
            late[end:] += (sum(row) - sum(before)) * worth
        return Try(late, own, max(self.latest, own, *ends), len(ends))


def _worth(rows: list[list[float]], times: NDArray[np.float64]) -> list[float]:
    """Return what a host of each class gets done in a second, by (K, n) times: each by the tasks that it can run."""
    if len(rows) == 1:
        return [1 / len(rows[0])]
    able, best = np.isfinite(times), times.min(axis=0)
    speeds = [best[can].sum() / row[can].sum() if can.any() else 1.0 for can, row in zip(able, times, strict=True)]
    every = sum(len(row) * speed for row, speed in zip(rows, speeds, strict=True))
    return [speed / every for speed in speeds]


class _Alike:
    """Tasks in planned order on hosts of one class."""

    def __init__(self, counts: list[int], times: NDArray[np.float64], release: list[float]) -> None:
        self._columns = counts, times[0].tolist(), release

    def place(self, rows: list[list[float]], begin: int, end: int) -> list[float]:
        """Return when some tasks end on hosts whose free times are changed."""
        columns = [column[begin:end] for column in self._columns]
        return _placed(rows[0], zip(*columns, strict=True))


class _Apart:
    """Tasks in planned order on hosts of several classes; how many of which one takes is settled the first time."""

    def __init__(self, counts: list[int], times: NDArray[np.float64], release: list[float]) -> None:
        self._open = list(zip(counts, zip(*times.tolist(), strict=True), release, strict=True))
        self._settled: list[tuple[Parts, float, float]] = []

    def place(self, rows: list[list[float]], begin: int, end: int) -> list[float]:
        """Return when some tasks end on hosts whose free times are changed; at first one stretch after the other."""
        free, ends = FreeByClass(rows), []
        for count, times, release in self._open[len(self._settled) : end]:
            start, own, parts = free.first_to_end(times, count, release)
            self._settled.append((parts, own - start, release))
            free.take(parts, own)
            ends.append(own)
        for parts, seconds, release in self._settled[begin : end - len(ends)]:
            own = max([release, *[rows[kind][count - 1] for kind, count in parts]]) + seconds
            free.take(parts, own)
            ends.append(own)
        return ends


def _placed(free: list[float], tasks: Iterable[tuple[int, float, float]]) -> list[float]:
    """Return when tasks, each a (count, seconds, release), end on hosts whose free times, ascending, are changed.

    The same as `FreeTimes` and `spans` do, in one loop: this is what placing a task takes its time for.
    """
    ends = []
    last = -1  # of the entries taken so far: to take them out one by one is slower than to search behind them
    for count, seconds, release in tasks:
        last += count
        start = free[last]
        end = (start if start > release else release) + seconds
        ends.append(end)
        if count == 1:
            insort(free, end, last)
        else:
            place = bisect_right(free, end, last)
            free[place:place] = (end,) * count
    del free[: last + 1]
    return ends
