"""A new task's place in a plan that is there: quick enough for the event that brings it, and nothing to compile."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cosched.scheduling.problem import Plan
from cosched.scheduling.widths import single_class

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.scheduling.problem import Problem, Weights

__all__ = ["insert"]

_PLACES = 4  # where a task that would be late at the end of the queue is tried whatever can be expected there
_MARKS = 16  # places at which the state of the hosts is kept; a multiple of _PLACES
_MOST_PLACED = 1000  # tasks that all tries together may place anew: what bounds the time of a long queue


def insert(problem: Problem, plan: Plan, task: int, weights: Weights) -> Plan | None:
    """Return a plan of known tasks with one more, placed at the best of a few places.

    The end of the queue is tried first; only a task that would be late there is tried further ahead, so that the
    objective is least (but for idle pockets, which are not looked at). One pass over the plan, for a late task parts
    of a few more.

    Args:
        problem: with the new task.
        plan: an order without the new task; counts of every task (that of the new one is ignored).
        task: index of the new task.
        weights: of the objective.

    Returns:
        The plan; None where hosts are not alike, come and go, or tasks wait for others: that takes a search.
    """
    if problem.absences or any(problem.depends_on) or single_class(problem) is None:
        return None
    queue = _Queue(problem, plan, _Price.of(problem, weights))
    new = _widths(problem, task)
    end = queue.marks[-1]
    last = min(new.options(end.free), key=lambda option: new.cost(option, end.latest, len(problem.hosts)))
    if last.end <= new.deadline:
        return _with(plan, task, len(plan.order), last.hosts)
    best = queue.price.of_late(end.missed + 1, end.late + last.end - new.deadline, max(end.latest, last.end))
    chosen = (len(plan.order), last.hosts)
    for mark, option in _tries(queue, new, last.hosts):
        cost = queue.cost_with(mark, option, new.deadline, best)
        if cost < best:
            best, chosen = cost, (queue.marks[mark].place, option.hosts)
    return _with(plan, task, *chosen)


@dataclass(frozen=True, slots=True)
class _Price:
    """The objective as a price in seconds: of the makespan and the mean lateness; missed deadlines ahead of it."""

    makespan: float
    lateness: float
    missed: float

    @classmethod
    def of(cls, problem: Problem, weights: Weights) -> _Price:
        due = max(int(np.isfinite(problem.deadline).sum()), 1)
        return cls(weights.makespan, weights.lateness / due, float(weights.deadlines_first))

    def of_late(self, missed: int, late: float, latest: float) -> tuple[float, float]:
        """Return what so many missed deadlines, so much lateness in all and such a makespan (s) cost."""
        return self.missed * missed, self.makespan * latest + self.lateness * late


class _Option(NamedTuple):
    """One way to place a task: how many hosts, until when, at what area in host-seconds."""

    hosts: int
    end: float
    area: float


@dataclass(frozen=True, slots=True)
class _Widths:
    """The new task: its useful host counts, the run time on any count, when it may start and has to end."""

    counts: list[int]
    seconds: list[float]
    ready: float
    deadline: float

    def options(self, free: Sequence[float]) -> list[_Option]:
        """Return every way to place it on hosts that become free at these times, ascending."""
        return [self.option(free, count) for count in self.counts]

    def option(self, free: Sequence[float], count: int) -> _Option:
        """Return the way to place it on so many of these hosts."""
        seconds = self.seconds[count - 1]
        start = free[count - 1]
        return _Option(count, (start if start > self.ready else self.ready) + seconds, count * seconds)

    def on_time(self, free: Sequence[float]) -> list[_Option]:
        """Return the ways in which it ends by its deadline."""
        return [option for option in self.options(free) if option.end <= self.deadline]

    def cost(self, option: _Option, makespan: float, hosts: int) -> tuple[float, float]:
        """Return what decides at the end of a queue: lateness, then makespan and the share of the hosts' time."""
        return max(0.0, option.end - self.deadline), max(makespan, option.end) + option.area / hosts


class _Mark(NamedTuple):
    """The state ahead of a place in the queue: when hosts become free, ascending, and what the queue cost so far."""

    place: int
    free: list[float]
    missed: int
    late: float
    latest: float


class _Queue:
    """A plan of independent tasks on identical hosts, decoded once; marks let later passes begin within it."""

    def __init__(self, problem: Problem, plan: Plan, price: _Price) -> None:
        order, only = plan.order, int(problem.host_class[0])
        counts = plan.counts[order]
        columns = (counts, problem.seconds[only, order, counts - 1], problem.release[order], problem.deadline[order])
        tasks = list(zip(*[column.tolist() for column in columns], strict=True))
        places = [len(tasks) * step // _MARKS for step in range(_MARKS + 1)]
        self.price = price
        self._left = _MOST_PLACED
        self._stretches = [tasks[begin:end] for begin, end in pairwise(places)]
        self.marks = [_Mark(0, sorted(problem.free.tolist()), 0, 0.0, 0.0)]
        for place, stretch in zip(places[1:], self._stretches, strict=True):
            _, free, missed, late, latest = self.marks[-1]
            self.marks.append(_Mark(place, *_after(free.copy(), stretch, missed, late, latest)))

    def cost_with(self, mark: int, option: _Option, deadline: float, best: tuple[float, float]) -> tuple[float, float]:
        """Return the price with the new task at a mark, or one that is no better than `best`.

        Whoever comes behind a task that is put in starts no earlier than without it: what the queue costs from here on
        is a bound, and the pass ends as soon as that says that the best so far stays the best.
        """
        end = self.marks[-1]
        place, free, missed, late, latest = self.marks[mark]
        if end.place - place > self._left:
            return best
        free = _taken(free.copy(), option.hosts, option.end)
        missed, latest = missed + (option.end > deadline), max(latest, option.end)
        late += max(0.0, option.end - deadline)
        for ahead, stretch in zip(self.marks[mark:], self._stretches[mark:], strict=False):
            bound = self.price.of_late(
                missed + end.missed - ahead.missed, late + (end.late - ahead.late), max(latest, end.latest)
            )
            if bound >= best:
                return bound
            self._left -= len(stretch)
            free, missed, late, latest = _after(free, stretch, missed, late, latest)
        return self.price.of_late(missed, late, latest)


def _after(
    free: list[float], tasks: Sequence[tuple[int, float, float, float]], missed: int, late: float, latest: float
) -> tuple[list[float], int, float, float]:
    """Place tasks, given as (count, seconds, release, deadline), on hosts whose free times are changed in place.

    The same as `FreeTimes` and `spans` do, in one loop: this is what placing a task takes its time for.
    """
    for count, seconds, release, deadline in tasks:
        start = free[count - 1]
        end = (start if start > release else release) + seconds
        if count == 1:
            del free[0]
            insort(free, end)
        else:
            del free[:count]
            place = bisect_right(free, end)
            free[place:place] = [end] * count
        if end > deadline:
            missed += 1
            late += end - deadline
        if end > latest:
            latest = end
    return free, missed, late, latest


def _tries(queue: _Queue, new: _Widths, count: int) -> list[tuple[int, _Option]]:
    """Return (index of a mark, way to place the new task there), the last places first.

    Ahead of them comes the last mark at which the task would be on time, on what takes the least of the hosts' time.
    """
    tries = []
    # Hosts become free no sooner further back: whoever is on time at a mark is so at all ahead of it.
    on_time = bisect_left(range(_MARKS), x=True, key=lambda mark: not new.on_time(queue.marks[mark].free)) - 1
    if on_time >= 0:
        options = new.on_time(queue.marks[on_time].free)
        tries.append((on_time, min(options, key=lambda option: (option.area, option.end))))
    for mark in reversed(range(0, _MARKS, _MARKS // _PLACES)):
        same = new.option(queue.marks[mark].free, count)
        if (mark, same) not in tries:
            tries.append((mark, same))
    return tries


def _widths(problem: Problem, task: int) -> _Widths:
    seconds = problem.seconds[int(problem.host_class[0]), task].tolist()
    counts, least = [], float("inf")
    for count, value in enumerate(seconds, start=1):
        if value < least:  # else a smaller count ends no later and leaves more hosts free
            counts.append(count)
            least = value
    return _Widths(counts, seconds, float(problem.release[task]), float(problem.deadline[task]))


def _taken(free: list[float], count: int, end: float) -> list[float]:
    """Occupy the `count` hosts that are free first until `end`."""
    del free[:count]
    place = bisect_right(free, end)
    free[place:place] = [end] * count
    return free


def _with(plan: Plan, task: int, place: int, count: int) -> Plan:
    counts = plan.counts.copy()
    counts[task] = count
    return Plan(np.insert(plan.order, place, task), counts, plan.classes)
