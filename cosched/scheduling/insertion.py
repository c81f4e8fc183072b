"""A new task's place in a plan that is there: quick enough for the event that brings it, and nothing to compile."""

from __future__ import annotations

from bisect import bisect_right, insort
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cosched.scheduling.decoder import spans
from cosched.scheduling.free_times import FreeTimes
from cosched.scheduling.problem import Plan
from cosched.scheduling.widths import best_seconds, single_class, useful

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.scheduling.problem import Problem

__all__ = ["append"]

_PLACES = 4  # where a task that would be late at the end of the queue is tried whatever can be expected there
_MARKS = 16  # places at which the state of the hosts is kept; a multiple of _PLACES


def append(problem: Problem, plan: Plan, task: int) -> Plan:
    """Return a plan of known tasks with one more, placed at the best of a few places.

    The end of the queue is tried first; only a task that would be late there is tried further ahead, so that the total
    lateness and then the makespan are least. One pass over the plan, for a late task parts of a few more.

    Args:
        problem: with the new task.
        plan: an order without the new task; counts of every task (that of the new one is ignored).
        task: index of the new task.
    """
    if problem.absences or any(problem.depends_on) or single_class(problem) is None:
        return _append_anywhere(problem, plan, task)
    queue = _Queue(problem, plan)
    new = _widths(problem, task)
    end = queue.marks[-1]
    last = min(new.options(end.free), key=lambda option: new.cost(option, end.latest, len(problem.hosts)))
    if last.end <= new.deadline:
        return _with(plan, task, len(plan.order), last.count)
    best = (end.late + last.end - new.deadline, max(end.latest, last.end))
    chosen = (len(plan.order), last.count)
    for mark, option in _tries(queue, new, last.count):
        cost = queue.cost_with(mark, option, new.deadline, best)
        if cost < best:
            best, chosen = cost, (queue.marks[mark].place, option.count)
    return _with(plan, task, *chosen)


@dataclass(frozen=True, slots=True)
class _Option:
    """One way to place a task: how many hosts, until when, at what area in host-seconds."""

    count: int
    end: float
    area: float


@dataclass(frozen=True, slots=True)
class _Widths:
    """The new task: its useful host counts, the run time on each, when it may start and has to end."""

    counts: list[int]
    seconds: list[float]
    ready: float
    deadline: float

    def options(self, free: Sequence[float]) -> list[_Option]:
        """Return every way to place it on hosts that become free at these times, ascending."""
        return [
            _Option(count, max(free[count - 1], self.ready) + seconds, count * seconds)
            for count, seconds in zip(self.counts, self.seconds, strict=True)
        ]

    def cost(self, option: _Option, makespan: float, hosts: int) -> tuple[float, float]:
        """Return what decides at the end of a queue: lateness, then makespan and the share of the hosts' time."""
        return max(0.0, option.end - self.deadline), max(makespan, option.end) + option.area / hosts


class _Mark(NamedTuple):
    """The state ahead of a place in the queue: when hosts become free, ascending; lateness and makespan so far."""

    place: int
    free: list[float]
    late: float
    latest: float


class _Queue:
    """A plan of independent tasks on identical hosts, decoded once; marks let later passes begin within it."""

    def __init__(self, problem: Problem, plan: Plan) -> None:
        order, only = plan.order, int(problem.host_class[0])
        counts = plan.counts[order]
        columns = (counts, problem.seconds[only, order, counts - 1], problem.release[order], problem.deadline[order])
        tasks = list(zip(*[column.tolist() for column in columns], strict=True))
        places = [len(tasks) * step // _MARKS for step in range(_MARKS + 1)]
        self._stretches = [tasks[begin:end] for begin, end in pairwise(places)]
        self.marks = [_Mark(0, sorted(problem.free.tolist()), 0.0, 0.0)]
        for place, stretch in zip(places[1:], self._stretches, strict=True):
            _, free, late, latest = self.marks[-1]
            self.marks.append(_Mark(place, *_after(free.copy(), stretch, late, latest)))

    def cost_with(self, mark: int, option: _Option, deadline: float, best: tuple[float, float]) -> tuple[float, float]:
        """Return total lateness and makespan with the new task at a mark, or bounds of them that are no better.

        Whoever comes behind a task that is put in starts no earlier than without it: what the queue costs from here on
        is a bound, and the pass ends as soon as that says that the best so far stays the best.
        """
        end = self.marks[-1]
        _, free, late, latest = self.marks[mark]
        free = _taken(free.copy(), option.count, option.end)
        late, latest = late + max(0.0, option.end - deadline), max(latest, option.end)
        for ahead, stretch in zip(self.marks[mark:], self._stretches[mark:], strict=False):
            bound = (late + (end.late - ahead.late), max(latest, end.latest))
            if bound >= best:
                return bound
            free, late, latest = _after(free, stretch, late, latest)
        return late, latest


def _after(
    free: list[float], tasks: Sequence[tuple[int, float, float, float]], late: float, latest: float
) -> tuple[list[float], float, float]:
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
            late += end - deadline
        if end > latest:
            latest = end
    return free, late, latest


def _tries(queue: _Queue, new: _Widths, count: int) -> list[tuple[int, _Option]]:
    """Return (index of a mark, way to place the new task there), the last places first.

    Ahead of them comes the last mark at which the task would be on time, on what takes the least of the hosts' time.
    """
    tries = []
    for mark in reversed(range(_MARKS)):
        on_time = [option for option in new.options(queue.marks[mark].free) if option.end <= new.deadline]
        if on_time:
            tries.append((mark, min(on_time, key=lambda option: (option.area, option.end))))
            break
    for mark in reversed(range(0, _MARKS, _MARKS // _PLACES)):
        same = [option for option in new.options(queue.marks[mark].free) if option.count == count]
        tries += [(mark, option) for option in same if (mark, option) not in tries]
    return tries


def _append_anywhere(problem: Problem, plan: Plan, task: int) -> Plan:
    """Do as `append` where the hosts differ or come and go, or tasks wait for others: every try is decoded."""
    ends = spans(problem, plan)[1]
    free = FreeTimes(problem.free.tolist())
    for known in plan.order.tolist():
        free.take(int(plan.counts[known]), ends[known])
    makespan = max((ends[known] for known in plan.order.tolist()), default=0.0)
    new = _widths(problem, task, [ends[other] for other in (problem.depends_on[task] if problem.depends_on else ())])
    options = new.options(free.ascending)
    last = min(options, key=lambda option: new.cost(option, makespan, len(problem.hosts)))
    at_end = _with(plan, task, len(plan.order), last.count)
    if last.end <= new.deadline:
        return at_end
    places = sorted({len(plan.order) * step // _PLACES for step in range(_PLACES)})
    tried = [_with(plan, task, place, last.count) for place in places]
    return min([at_end, *tried], key=lambda candidate: _lateness_then_makespan(problem, candidate))


def _widths(problem: Problem, task: int, ready: Sequence[float] = ()) -> _Widths:
    alone = replace(problem, seconds=problem.seconds[:, [task]])
    counts = np.flatnonzero(useful(alone)[0])
    seconds = best_seconds(alone)[0, counts]
    return _Widths(
        (counts + 1).tolist(),
        seconds.tolist(),
        max([float(problem.release[task]), *ready]),
        float(problem.deadline[task]),
    )


def _taken(free: list[float], count: int, end: float) -> list[float]:
    """Occupy the `count` hosts that are free first until `end`."""
    del free[:count]
    place = bisect_right(free, end)
    free[place:place] = [end] * count
    return free


def _with(plan: Plan, task: int, place: int, count: int) -> Plan:
    counts = plan.counts.copy()
    counts[task] = count
    return Plan(np.insert(plan.order, place, task), counts)


def _lateness_then_makespan(problem: Problem, plan: Plan) -> tuple[float, float]:
    ends = np.array(spans(problem, plan)[1])
    placed = np.nan_to_num(ends)
    return float(np.maximum(placed - problem.deadline, 0.0).sum()), float(placed.max())
