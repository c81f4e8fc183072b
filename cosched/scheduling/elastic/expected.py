"""Expect what becomes of a plan with elastic tasks: they run on more hosts than promised while nobody needs these.

A schedule decoded as ever, with the planned count for each task, is the promise. What is idle is lent by marginal gain
with payback, and nobody ends later than promised. Start at `expected_schedule`.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING

from cosched.scheduling.elastic.lending import lend_hosts, spare_hosts, take_back
from cosched.scheduling.elastic.pieces import TaskPiece
from cosched.scheduling.elastic.policy import Draft
from cosched.scheduling.elastic.tasks import ElasticParameters, ElasticTask
from cosched.scheduling.elastic.virtual_pool import run_elastic

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.scheduling.elastic.tasks import Allocation, ElasticPool, ElasticProgress
    from cosched.scheduling.elastic.virtual_pool import ElasticRun
    from cosched.scheduling.problem import Problem
    from cosched.scheduling.schedule import Assignment, Schedule

__all__ = ["expected_schedule"]

_RELATIVE = 1e-9


def expected_schedule(problem: Problem, promised: Schedule, payback: float = 2.0) -> list[TaskPiece]:
    """Return the pieces in which tasks are expected to run, by their starts.

    Hosts go to whoever is next in the order of the promised starts as soon as there are enough; where that would end
    anybody later than promised, as it can with releases, predecessors, and changes that cost more than they save, hosts
    are lent only from the gaps of the promised schedule, and at worst not at all.

    Args:
        problem: hosts of one class that are always there, each for one task.
        promised: its schedule.
        payback: how many times its cost a change must save.
    """
    places = sorted(promised.assignments, key=lambda item: item.start)  # stable: the plan's order between equals
    names = {item.task: f"{place:06}" for place, item in enumerate(places)}  # in the pool, so that their order is it
    tasks = _tasks(problem, places)
    limit = [item.end * (1 + _RELATIVE) for item in places]
    counts = [len(item.hosts) for item in places]
    window = len(problem.hosts) + 1  # at one event more cannot start, and the next one ends the pass
    drain = max((task.drain for task in (problem.elastic or {}).values()), default=0.0)
    for policy, attempt, before, moments in (
        (_PlannedLoans(counts), tasks, _predecessors(problem, names), ()),
        (
            _PlannedLoans(counts, _Reserve.of(promised, drain)),
            [replace(task, submitted=item.start) for task, item in zip(tasks, places, strict=True)],
            {},
            [max(item.start - drain, 0.0) for item in places],
        ),
    ):
        parameters = ElasticParameters(payback=payback)
        runs = run_elastic(attempt, len(problem.hosts), policy, parameters, before, moments, window)
        if all(run.finished <= limit[int(run.task.id)] for run in runs):
            return _named(problem, [places[int(run.task.id)].task for run in runs], runs)
    return sorted((TaskPiece(item.task, item.hosts, item.start, item.end) for item in places), key=_start)


@dataclass(frozen=True, slots=True)
class _Reserve:
    """Hosts that the promised schedule has in use, soon enough for what leaves them to drain.

    Attributes:
        starts: when tasks start, ascending.
        used: hosts in use once they have started.
        drain: seconds until a host is free.
    """

    starts: list[float]
    used: list[int]
    drain: float

    @classmethod
    def of(cls, promised: Schedule, drain: float) -> _Reserve:
        """Return the reserve of a schedule."""
        changes: dict[float, int] = defaultdict(int)
        for item in promised.assignments:
            changes[item.start] += len(item.hosts)
            changes[item.end] -= len(item.hosts)
        times = sorted(changes)
        used = dict(zip(times, accumulate(changes[time] for time in times), strict=True))
        starts = sorted({item.start for item in promised.assignments})
        return cls(starts, [used[start] for start in starts], drain)

    def hosts(self, time: float) -> int:
        """Return the most hosts that are in use by the schedule once the next tasks start, within the drain."""
        begin, end = bisect_right(self.starts, time), bisect_right(self.starts, time + self.drain * (1 + _RELATIVE))
        return max(self.used[begin:end], default=0)


class _PlannedLoans:
    """Starts tasks in the order of their names, their places, on their planned counts, and lends what is idle."""

    def __init__(self, counts: Sequence[int], reserve: _Reserve | None = None) -> None:
        self._counts = counts
        self._reserve = reserve

    def reshape(self, pool: ElasticPool, parameters: ElasticParameters) -> Allocation:
        """Start tasks until the first that has too few hosts, taking loans back; then lend what is not reserved."""
        draft = Draft(pool)
        for progress in sorted(draft.waiting, key=lambda each: each.task.id):
            hosts = self._kept(progress)
            if hosts > draft.idle + spare_hosts(draft, self._kept):
                break
            take_back(draft, hosts, self._kept)
            draft.set(progress, hosts)
        kept = sum(self._kept(each) for each in draft.having)
        aside = 0 if self._reserve is None else max(self._reserve.hosts(pool.time) - kept, 0)
        take_back(draft, aside, self._kept)
        draft.idle -= aside
        lend_hosts(draft, parameters.payback, self._kept)
        draft.idle += aside
        return draft.allocation()

    def _kept(self, progress: ElasticProgress) -> int:
        return self._counts[int(progress.task.id)]


def _tasks(problem: Problem, places: Sequence[Assignment]) -> list[ElasticTask]:
    """Return every task by its place as an elastic one; the others have their planned count alone."""
    elastic, index = problem.elastic or {}, {name: task for task, name in enumerate(problem.tasks)}
    only = int(problem.host_class[0])
    found = []
    for place, item in enumerate(places):
        task, count, name = index[item.task], len(item.hosts), f"{place:06}"
        submitted = float(problem.release[task])
        if task in elastic:
            found.append(replace(elastic[task], id=name, submitted=submitted))
        else:
            seconds = (float(problem.seconds[only, task, count - 1]),) * count
            found.append(ElasticTask(name, seconds, count, count, count, submitted=submitted))
    return found


def _predecessors(problem: Problem, names: Mapping[str, str]) -> dict[str, list[str]]:
    return {
        names[problem.tasks[task]]: [names[problem.tasks[other]] for other in others]
        for task, others in enumerate(problem.depends_on)
    }


def _named(problem: Problem, tasks: Sequence[str], runs: Sequence[ElasticRun]) -> list[TaskPiece]:
    """Give each task the first hosts that are idle when it gets some; those that leave it drain first."""
    changes = sorted(
        (time, hosts - before, place)  # hosts leave before others come at the same time
        for place, run in enumerate(runs)
        for (time, hosts), before in zip(
            (*run.widths, (run.finished, 0)), (0, *(hosts for _, hosts in run.widths)), strict=True
        )
    )
    idle, draining = list(range(len(problem.hosts))), list[tuple[float, int]]()
    held: list[list[int]] = [[] for _ in runs]
    since = [0.0] * len(runs)
    pieces = []
    for time, change, place in changes:
        while draining and draining[0][0] <= time:
            heapq.heappush(idle, heapq.heappop(draining)[1])
        run, hosts = runs[place], held[place]
        if hosts and time > since[place]:
            names = tuple(problem.hosts[host] for host in sorted(hosts))
            pieces.append(TaskPiece(tasks[place], names, since[place], time))
        since[place] = time
        for _ in range(-change):
            host = hosts.pop()
            if time < run.finished and run.task.drain:
                heapq.heappush(draining, (time + run.task.drain, host))
            else:
                heapq.heappush(idle, host)
        hosts.extend(heapq.heappop(idle) for _ in range(change))
    return sorted(pieces, key=_start)


def _start(piece: TaskPiece) -> tuple[float, str]:
    return piece.start, piece.task
