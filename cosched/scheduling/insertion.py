"""A new task's place in a plan that is there: quick enough for the event that brings it, and nothing to compile."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from dataclasses import replace
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cosched.scheduling.decoder import dependency_order, spans
from cosched.scheduling.metrics import MISSED
from cosched.scheduling.problem import Plan
from cosched.scheduling.widths import single_class

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from cosched.scheduling.problem import Problem, Weights

__all__ = ["insert"]

_MARKS = 16  # places in a queue where a task may go in; a multiple of _QUARTERS
_QUARTERS = 4  # places where it is tried also on as many hosts as behind all others, while there is time
_HORIZON = 60  # tasks that a try places anew at least; those behind are taken to be delayed alike
_ENOUGH = 1050  # tasks placed in all, the first pass included, after which no more is tried
_FAR = 8.0  # times the mean delay; no task is reckoned to be delayed by more


def insert(problem: Problem, plan: Plan, task: int, weights: Weights) -> Plan | None:
    """Return a plan of known tasks with one more, placed at the best of a few places.

    The end of the queue is tried first; only a task that would be late there is tried further ahead, so that the
    objective is least (but for idle pockets, which are not looked at). One pass over the plan tells what each place
    is likely to cost; where that is least, tasks are placed anew: in a short queue everywhere, in a long one once.

    Args:
        problem: with the new task.
        plan: an order without the new task; counts of every task (that of the new one is ignored).
        task: index of the new task.
        weights: of the objective.

    Returns:
        The plan; None where hosts are not alike, come and go, or others come after the task: that takes a search.
    """
    if problem.absences or single_class(problem) is None:
        return None
    first = 0
    if any(problem.depends_on):
        order = dependency_order(problem, plan.order.tolist())
        if task in order:
            return None
        first = max((order.index(other) + 1 for other in problem.depends_on[task]), default=0)
        problem, plan = _apart(problem, plan), replace(plan, order=np.array(order, dtype=np.int64))
    queue, new = _Queue(problem, plan), _New.of(problem, task)
    place, count, end = len(plan.order), *_at_end(queue, new)
    if end > new.deadline:
        price = _Price.of_seconds(problem, weights, max(queue.latest, end))
        place, count = _ahead(queue, new, price, _Behind(first, count, end))
    counts = plan.counts.copy()
    counts[task] = count
    return Plan(np.concatenate((plan.order[:place], [task], plan.order[place:])), counts, plan.classes)


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


class _New(NamedTuple):
    """The new task: useful numbers of hosts, ascending, run times on them, when it may start and has to end."""

    counts: list[int]
    seconds: list[float]
    ready: float
    deadline: float

    @classmethod
    def of(cls, problem: Problem, task: int) -> _New:
        """Return a task of a problem whose hosts are alike."""
        seconds = problem.seconds[int(problem.host_class[0]), task]
        fewer = np.minimum.accumulate(np.concatenate(([np.inf], seconds[:-1])))
        useful = np.flatnonzero(seconds < fewer)  # else a smaller count ends no later and leaves more hosts free
        deadline = float(problem.deadline[task])
        return cls((useful + 1).tolist(), seconds[useful].tolist(), float(problem.release[task]), deadline)


class _Queue:
    """A plan of independent tasks on identical hosts, decoded once; marks let others begin within it.

    Attributes:
        places: how many tasks are ahead of each mark, ascending; the last mark is the end.
        free: when the hosts are free again at each mark, ascending.
        late: (n,) in planned order, seconds from each task's deadline to its end.
        latest: when the last one ends.
    """

    def __init__(self, problem: Problem, plan: Plan) -> None:
        order, only = plan.order, int(problem.host_class[0])
        counts, release = plan.counts[order], problem.release[order]
        self._counts: list[int] = counts.tolist()
        self._seconds: list[float] = problem.seconds[only, order, counts - 1].tolist()
        self._release: list[float] = release.tolist() if release.any() else [0.0] * len(order)
        self._deadline = problem.deadline[order]
        self.places = sorted({len(order) * step // _MARKS for step in range(_MARKS + 1)})
        self.free = [sorted(problem.free.tolist())]
        tasks = zip(self._counts, self._seconds, self._release, strict=True)
        ends: list[float] = []
        for begin, end in pairwise(self.places):
            free = self.free[-1].copy()
            ends += _placed(free, islice(tasks, end - begin))
            self.free.append(free)
        times = np.fromiter(ends, np.float64, len(ends))
        self.late = times - self._deadline
        self.latest = float(times.max(initial=0.0))

    def with_one_more(self, mark: int, count: int, seconds: float, ready: float) -> _Try:
        """Place one more task at a mark, and anew those behind it as far as the horizon."""
        begin, free = self.places[mark], self.free[mark].copy()
        until = min(bisect_left(self.places, begin + _HORIZON), len(self.places) - 1)
        end = self.places[until]
        (own,) = _placed(free, [(count, seconds, ready)])
        columns = self._counts[begin:end], self._seconds[begin:end], self._release[begin:end]
        ends = _placed(free, zip(*columns, strict=True))
        late = self.late.copy()
        late[begin:end] = ends - self._deadline[begin:end]
        late[end:] += (sum(free) - sum(self.free[until])) / len(free)
        return _Try(late, own, max(self.latest, own, *ends), len(ends))


class _Behind(NamedTuple):
    """The new task behind all others: how many of these must be ahead of it; on how many hosts it runs, until when."""

    first: int
    hosts: int
    end: float


class _Try(NamedTuple):
    """A queue with one more task: how late the others are, both ends, and how many tasks were placed."""

    late: NDArray[np.float64]
    end: float
    latest: float
    placed: int

    def cost(self, new: _New, price: _Price) -> float:
        """Return what it costs."""
        own, late = self.end - new.deadline, self.late[self.late > 0]
        return float(price.of(self.latest, float(late.sum()) + max(own, 0.0), len(late) + (own > 0)))


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


def _at_end(queue: _Queue, new: _New) -> tuple[int, float]:
    """Return on how many hosts the new task is best behind all others, and until when."""
    free = queue.free[-1]
    options = []
    for count, seconds in zip(new.counts, new.seconds, strict=True):
        end = max(free[count - 1], new.ready) + seconds
        options.append((max(end - new.deadline, 0.0), max(end, queue.latest) + count * seconds / len(free), count, end))
    return min(options)[2:]


def _ahead(queue: _Queue, new: _New, price: _Price, behind: _Behind) -> tuple[int, int]:
    """Return behind how many others a task that would be late behind all is best, and on how many hosts."""
    count = behind.hosts
    best = _Try(queue.late, behind.end, max(queue.latest, behind.end), len(queue.late))
    least, place, placed = best.cost(new, price), queue.places[-1], best.placed
    tries = dict.fromkeys([*_promising(queue, new, price), *_quarters(queue, count)])
    for mark, hosts in tries:
        if queue.places[mark] < behind.first:
            continue
        found = queue.with_one_more(mark, hosts, new.seconds[new.counts.index(hosts)], new.ready)
        cost = found.cost(new, price)
        if cost < least:
            least, place, count = cost, queue.places[mark], hosts
        placed += found.placed
        if placed >= _ENOUGH:
            break
    return place, count


def _quarters(queue: _Queue, count: int) -> list[tuple[int, int]]:
    """Return (mark, number of hosts) for quarters of the queue and one number of hosts, the last ones first."""
    others = len(queue.late)
    return [(queue.places.index(others * step // _QUARTERS), count) for step in reversed(range(_QUARTERS))]


def _promising(queue: _Queue, new: _New, price: _Price) -> list[tuple[int, int]]:
    """Return (mark, number of hosts), for each mark the number that is likely to be best, the best mark first.

    Behind the new task all are delayed by what it takes of the hosts' time, shared by all hosts, on the average: this
    takes delays to be distributed exponentially, which says how likely each task is to become late.
    """
    places, counts = np.array(queue.places[:-1], dtype=np.int64), np.array(new.counts)
    free = np.array([free[: new.counts[-1]] for free in queue.free[:-1]]).reshape(-1, new.counts[-1])
    ends = np.maximum(free[:, counts - 1], new.ready) + new.seconds
    # What others lose is also the time in which its hosts wait for each other.
    delays = (counts * ends - free.cumsum(axis=1)[:, counts - 1]) / len(queue.free[0])
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
    return list(zip(best_first.tolist(), counts[options[best_first]].tolist(), strict=True))


def _risk(late: NDArray[np.float64], places: NDArray[np.int64], delays: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how many tasks that are not late are likely to become so behind each place by a mean delay."""
    near = np.flatnonzero(late > -_FAR * delays.max(initial=0.0))
    near = near[late[near] <= 0]
    chances = np.exp(late[near] / delays[:, np.newaxis])
    risk: NDArray[np.float64] = (chances * (near >= places[:, np.newaxis])).sum(axis=1)
    return risk
