"""A new task is inserted into the current plan, at the event that brings it."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from dataclasses import replace
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cosched.scheduling.decoding.decoder import dependency_order, spans
from cosched.scheduling.decoding.free_hosts import FreeHostsByClass
from cosched.scheduling.host_counts import best_times, class_times, planned_times
from cosched.scheduling.objective.metrics import MISSED
from cosched.scheduling.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from cosched.scheduling.decoding.free_hosts import ClassCounts
    from cosched.scheduling.objective.weights import Weights
    from cosched.scheduling.problem import Problem

__all__ = ["InsertionTrial", "MarkedQueue", "RunOption", "insert"]

# ── A queue placed once, with marks from which its tasks can be placed anew behind one more.


_MARKS = 16  # places in a queue where a task may go in; quarters of the queue are among them
_HORIZON = 60  # tasks that a try places anew at least; those behind are taken to be delayed alike


class RunOption(NamedTuple):
    """How a task may run.

    Attributes:
        kind: the class whose hosts alone it takes; -1 for hosts of any.
        hosts: how many.
        times: run time on them by the slowest class among them, in seconds; infinite where that is not to be.
    """

    kind: int
    hosts: int
    times: tuple[float, ...]


class InsertionTrial(NamedTuple):
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
        self.free = [FreeHostsByClass.of(problem).rows]
        ends: list[float] = []
        for begin, end in pairwise(self.places):
            rows = [row.copy() for row in self.free[-1]]
            ends += self._tasks.place(rows, begin, end)
            self.free.append(rows)
        self.worth = _worth(self.free[0], times)
        ended = np.fromiter(ends, np.float64, len(ends))
        self.late = ended - self._deadline
        self.latest = float(ended.max(initial=0.0))

    def with_one_more(self, mark: int, way: RunOption, ready: float) -> InsertionTrial:
        """Place one more task at a mark, no sooner than it is ready, and anew those behind it as far as the horizon."""
        begin, rows = self.places[mark], [row.copy() for row in self.free[mark]]
        until = min(bisect_left(self.places, begin + _HORIZON), len(self.places) - 1)
        end = self.places[until]
        free = FreeHostsByClass(rows)
        _, own, parts = free.first_to_end(way.times, way.hosts, ready)
        free.take(parts, own)
        ends = self._tasks.place(rows, begin, end)
        late = self.late.copy()
        late[begin:end] = ends - self._deadline[begin:end]
        for row, before, worth in zip(rows, self.free[until], self.worth, strict=True):
            late[end:] += (sum(row) - sum(before)) * worth
        return InsertionTrial(late, own, max(self.latest, own, *ends), len(ends))


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
        self._settled: list[tuple[ClassCounts, float, float]] = []

    def place(self, rows: list[list[float]], begin: int, end: int) -> list[float]:
        """Return when some tasks end on hosts whose free times are changed; at first one stretch after the other."""
        free, ends = FreeHostsByClass(rows), []
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

    The same as `IdenticalFreeHosts` and `spans` do, in one loop: this is what placing a task takes its time for.
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


# ── A new task's place in a plan that is there: quick enough for the event that brings it, and nothing to compile.


_QUARTERS = 4  # places where it is tried also as it would run behind all others, while there is time
_ENOUGH = 1050  # tasks placed in all, the first pass included, after which no more is tried
_FAR = 8.0  # times the mean delay; no task is reckoned to be delayed by more


def insert(problem: Problem, plan: Plan, task: int, weights: Weights) -> Plan | None:
    """Return a plan of known tasks with one more, placed at the best of a few places.

    The end of the queue is tried first; only a task that would be late there is tried further ahead, so that the
    objective is least (but for idle pockets, which are not looked at). One pass over the plan tells what each place
    is likely to cost; where that is least, tasks are placed anew: in a short queue everywhere, in a long one once.

    On several classes the new task takes hosts of one, or of any where no class has as many.

    Args:
        problem: with the new task.
        plan: an order without the new task; counts and classes of every task (those of the new one are ignored).
        task: index of the new task.
        weights: of the objective.

    Returns:
        The plan; None where hosts come and go, or others come after the task: that takes a search.
    """
    if problem.absences or not np.isfinite(problem.free).all():
        return None
    first = 0
    if any(problem.depends_on):
        order = dependency_order(problem, plan.order.tolist())
        if task in order:
            return None
        first = max((order.index(other) + 1 for other in problem.depends_on[task]), default=0)
        problem, plan = _apart(problem, plan), replace(plan, order=np.array(order, dtype=np.int64))
    queue, new = MarkedQueue(problem, plan), _New.of(problem, task)
    place, (way, end) = len(plan.order), _at_end(queue, new)
    if end > new.deadline:
        price = _Price.of_seconds(problem, weights, max(queue.latest, end))
        place, way = _ahead(queue, new, price, _Behind(first, way, end))
    counts, classes = plan.counts.copy(), plan.classes
    counts[task] = way.hosts
    if len(queue.free[0]) > 1:
        classes = np.full(len(counts), -1) if classes is None else classes.copy()
        classes[task] = way.kind
    return Plan(np.concatenate((plan.order[:place], [task], plan.order[place:])), counts, classes)


def _apart(problem: Problem, plan: Plan) -> Problem:
    """Return a problem whose tasks are released when those that they come after end under a plan."""
    ends = spans(problem, plan)[1]
    release = [
        max([own, *[ends[other] for other in before]])
        for own, before in zip(problem.release.tolist(), problem.depends_on, strict=True)
    ]
    return replace(problem, release=np.array(release), depends_on=())


class _Price(NamedTuple):
    """The objective as far as a place decides it: what a second of makespan or lateness and a missed deadline cost."""

    makespan: float
    lateness: float
    missed: float

    @classmethod
    def of_seconds(cls, problem: Problem, weights: Weights, unit: float) -> _Price:
        """Return the prices that make pure numbers of times by a unit in seconds, as `metrics.objective` does."""
        due = max(int(np.count_nonzero(np.isfinite(problem.deadline))), 1)
        return cls(weights.makespan / unit, weights.lateness / (due * unit), MISSED * weights.deadlines_first)

    def of(self, makespan: Any, lateness: Any, missed: Any) -> Any:
        """Return what a makespan, a lateness in all and so many missed deadlines cost; numbers or arrays of them."""
        return self.makespan * makespan + self.lateness * lateness + self.missed * missed


class _OneClass(NamedTuple):
    """Ways to run on hosts of one class alone: numbers of hosts, ascending, and run times on them."""

    hosts: NDArray[np.int64]
    seconds: NDArray[np.float64]


class _New(NamedTuple):
    """The new task: useful ways to run, when it may start and has to end.

    Attributes:
        alone: by class.
        ways: these, by class, and those that take hosts of any, all by number of hosts ascending.
        ready: in seconds.
        deadline: likewise.
    """

    alone: list[_OneClass]
    ways: list[RunOption]
    ready: float
    deadline: float

    @classmethod
    def of(cls, problem: Problem, task: int) -> _New:
        """Return a task of a problem."""
        times = class_times(problem)[:, task]
        kinds = problem.host_class if len(times) > 1 else np.zeros(len(problem.hosts), dtype=np.int64)
        sizes = np.bincount(kinds, minlength=len(times))
        alone = [_useful(row[:size]) for row, size in zip(times, sizes.tolist(), strict=True)]
        ways = [
            RunOption(kind, hosts, tuple([seconds if each == kind else math.inf for each in range(len(times))]))
            for kind, group in enumerate(alone)
            for hosts, seconds in zip(group.hosts.tolist(), group.seconds.tolist(), strict=True)
        ]
        if len(times) > 1:
            possible = np.isfinite(times) & (np.arange(1, times.shape[1] + 1) <= sizes[:, np.newaxis])
            together = np.where(possible.any(axis=0), np.inf, best_times(times[:, np.newaxis], kinds)[0])
            ways += [
                RunOption(-1, hosts, tuple(times[:, hosts - 1].tolist())) for hosts in _useful(together).hosts.tolist()
            ]
        return cls(alone, ways, float(problem.release[task]), float(problem.deadline[task]))


def _useful(seconds: NDArray[np.float64]) -> _OneClass:
    """Return where times by number of hosts are less than all before: else fewer hosts are as quick."""
    columns = np.flatnonzero(seconds < np.minimum.accumulate(np.concatenate(([np.inf], seconds)))[:-1])
    return _OneClass(columns + 1, seconds[columns])


class _Behind(NamedTuple):
    """The new task behind all others: how many of these must be ahead of it; how it runs, until when."""

    first: int
    way: RunOption
    end: float


def _cost(found: InsertionTrial, new: _New, price: _Price) -> float:
    """Return what a queue with the new task costs."""
    own, late = found.end - new.deadline, found.late[found.late > 0]
    return float(price.of(found.latest, float(late.sum()) + max(own, 0.0), len(late) + (own > 0)))


def _at_end(queue: MarkedQueue, new: _New) -> tuple[RunOption, float]:
    """Return how the new task runs best behind all others, and until when."""
    options, rows = [], queue.free[-1]
    for way in new.ways:
        kind, hosts, times = way
        if kind >= 0:  # what `first_to_end` comes to, a fifth of its time, for each number of hosts
            end = max(rows[kind][hosts - 1], new.ready) + times[kind]
            load = times[kind] * hosts * queue.worth[kind]
        else:
            start, end, parts = FreeHostsByClass(rows).first_to_end(times, hosts, new.ready)
            load = (end - start) * sum([hosts * queue.worth[kind] for kind, hosts in parts])
        options.append((max(end - new.deadline, 0.0), max(end, queue.latest) + load, way.hosts, end, way))
    *_, end, way = min(options)
    return way, end


def _ahead(queue: MarkedQueue, new: _New, price: _Price, behind: _Behind) -> tuple[int, RunOption]:
    """Return behind how many others a task that would be late behind all is best, and how it runs there."""
    way = behind.way
    best = InsertionTrial(queue.late, behind.end, max(queue.latest, behind.end), len(queue.late))
    least, place, placed = _cost(best, new, price), queue.places[-1], best.placed
    for mark, other in dict.fromkeys([*_promising(queue, new, price), *_quarters(queue, behind.way)]):
        if queue.places[mark] < behind.first:
            continue
        found = queue.with_one_more(mark, other, new.ready)
        cost = _cost(found, new, price)
        if cost < least:
            least, place, way = cost, queue.places[mark], other
        placed += found.placed
        if placed >= _ENOUGH:
            break
    return place, way


def _quarters(queue: MarkedQueue, way: RunOption) -> list[tuple[int, RunOption]]:
    """Return quarters of the queue as marks, the last ones first, each with the way."""
    others = len(queue.late)
    return [(queue.places.index(others * step // _QUARTERS), way) for step in reversed(range(_QUARTERS))]


def _promising(queue: MarkedQueue, new: _New, price: _Price) -> list[tuple[int, RunOption]]:
    """Return each mark with the way to run there that is likely to be best, the best mark first.

    Behind the new task all are delayed by what it takes of the hosts' time, shared by all hosts, on the average: this
    takes delays to be distributed exponentially, which says how likely each task is to become late.
    """
    places = np.array(queue.places[:-1], dtype=np.int64)
    ends, delays = _estimates(queue, new)
    late = np.flatnonzero(queue.late > 0)
    late = len(late) - late.searchsorted(places)  # how many are behind each mark
    own = np.maximum(ends - new.deadline, 0.0)
    costs = price.of(np.maximum(ends, queue.latest), own + (late + 1)[:, np.newaxis] * delays, own > 0)
    options = costs.argmin(axis=1)
    chosen = np.arange(len(places)), options
    ends, own, delays = ends[chosen], own[chosen], delays[chosen]
    risk = _risk(queue.late, places, delays)
    costs = price.of(np.maximum(ends, queue.latest), own + (late + risk) * delays, (own > 0) + risk)
    best_first = len(places) - 1 - np.argsort(costs[::-1], kind="stable")  # of equals the last, which delays the fewest
    return [(mark, new.ways[options[mark]]) for mark in best_first.tolist()]


def _estimates(queue: MarkedQueue, new: _New) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return when the new task ends and by how much it delays those behind it: both (marks but the end, ways)."""
    marks, first = len(queue.places) - 1, 0
    ends, delays = np.empty((2, marks, len(new.ways)))
    for kind, (hosts, seconds) in enumerate(new.alone):
        if len(hosts):
            ways = slice(first, first + len(hosts))
            free = np.array([rows[kind][: hosts[-1]] for rows in queue.free[:-1]]).reshape(marks, hosts[-1])
            ends[:, ways] = np.maximum(free[:, hosts - 1], new.ready) + seconds
            # What others lose is also the time in which its hosts wait for each other.
            lost = hosts * ends[:, ways] - free.cumsum(axis=1)[:, hosts - 1]
            delays[:, ways] = lost * queue.worth[kind]
            first = ways.stop
    for mark, way in product(range(marks), range(first, len(new.ways))):
        rows = queue.free[mark]
        _, end, parts = FreeHostsByClass(rows).first_to_end(new.ways[way].times, new.ways[way].hosts, new.ready)
        ends[mark, way] = end
        delays[mark, way] = sum([(count * end - sum(rows[kind][:count])) * queue.worth[kind] for kind, count in parts])
    return ends, delays


def _risk(late: NDArray[np.float64], places: NDArray[np.int64], delays: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how many tasks that are not late are likely to become so behind each place by a mean delay."""
    near = np.flatnonzero(late > -_FAR * delays.max(initial=0.0))
    near = near[late[near] <= 0]
    chances = np.exp(late[near] / delays[:, np.newaxis])
    risk: NDArray[np.float64] = (chances * (near >= places[:, np.newaxis])).sum(axis=1)
    return risk
