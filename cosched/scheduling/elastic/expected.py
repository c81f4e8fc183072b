"""Expect what becomes of a plan with elastic tasks: they run on more hosts than promised while nobody needs these.

A schedule decoded as ever, with the planned count for each task, is the promise. What is idle is lent by marginal gain
with payback, and nobody ends later than promised. Start at `expected_schedule`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from cosched.scheduling.elastic.lending import lend_hosts, spare_hosts, take_back
from cosched.scheduling.elastic.naming import named_pieces
from cosched.scheduling.elastic.policy import Draft
from cosched.scheduling.elastic.tasks import ElasticParameters, ElasticTask
from cosched.scheduling.elastic.virtual_pool import run_elastic
from cosched.scheduling.schedule import TaskPiece

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.scheduling.elastic.tasks import Allocation, ElasticPool, ElasticProgress
    from cosched.scheduling.problem import Problem
    from cosched.scheduling.schedule import Assignment, Schedule

__all__ = ["expected_schedule"]

_RELATIVE = 1e-9


def expected_schedule(problem: Problem, promised: Schedule, payback: float = 2.0) -> list[TaskPiece]:
    """Return the pieces in which tasks are expected to run, by their starts.

    Hosts go to whoever is next in the order of the promised starts as soon as there are enough. A task behind one that
    cannot start yet (not released, or its predecessors have not ended) starts when promised at the earliest.
    Loans leave in time for the next promised start, and a task takes them if it ends in time even without them then;
    a start before it is promised takes none from a task that would be late. If anybody were to end later than promised
    all the same, nothing would be lent.

    Args:
        problem: hosts of one class that are always there, each for one task.
        promised: its schedule.
        payback: how many times its cost a change must save.
    """
    places = sorted(promised.assignments, key=lambda item: item.start)  # stable: the plan's order between equals
    names = {item.task: f"{place:06}" for place, item in enumerate(places)}  # in the pool, so that their order is it
    tasks = _tasks(problem, places)
    limit = [item.end * (1 + _RELATIVE) for item in places]
    window = len(problem.hosts) + 1  # at one event more cannot start, and the next one ends the pass
    policy = _PlannedLoans(places, limit, problem)
    parameters = ElasticParameters(payback=payback)
    runs = run_elastic(tasks, len(problem.hosts), policy, parameters, _predecessors(problem, names), window)
    if all(run.finished <= limit[int(run.task.id)] for run in runs):
        return named_pieces(problem, [places[int(run.task.id)].task for run in runs], runs)
    return sorted(
        (TaskPiece(item.task, item.hosts, item.start, item.end) for item in places),
        key=lambda piece: (piece.start, piece.task),
    )


class _PlannedLoans:
    """Starts tasks in the order of their names, their places, on their planned counts, and lends what is idle.

    An object decides for one run.
    """

    def __init__(self, places: Sequence[Assignment], limits: Sequence[float], problem: Problem) -> None:
        """Begin with nothing started; `limits` are the latest ends by place."""
        elastic = (problem.elastic or {}).values()
        self._places = places
        self._limits = limits
        self._unstarted = list(range(len(places)))
        self._drain = max((task.drain for task in elastic), default=0.0)
        self._ahead = any(task.grow_cost + task.shrink_cost + task.drain > 0 for task in elastic)

    def reshape(self, pool: ElasticPool, parameters: ElasticParameters) -> Allocation:
        """Start tasks until the first that has too few hosts, taking loans back; then lend what is not needed soon."""
        draft = Draft(pool)
        again = self._start(draft)
        aside, needed = self._look_ahead(draft) if self._ahead else (0, math.inf)
        take_back(draft, aside, self._kept, partial(self._late, pool.time, 2))
        draft.idle -= aside
        lend_hosts(
            draft,
            parameters.payback,
            partial(self._kept_early, pool.time, 2),
            lambda progress, hosts: self._safe(draft, progress, hosts, needed),
            needed - pool.time,
        )
        draft.idle += aside
        if self._ahead and spare_hosts(draft, self._kept):
            again = min(again, needed)
        return replace(draft.allocation(), again=again)

    def _start(self, draft: Draft) -> float:
        """Start tasks; return when one that has come is to start at the latest, infinite where it waits for hosts."""
        time = draft.pool.time
        for progress in sorted(draft.waiting, key=lambda each: each.task.id):
            place = int(progress.task.id)
            hosts, promised = self._kept(progress), self._places[place].start
            if place != self._unstarted[0] and promised > time:
                return promised
            if hosts > draft.idle + spare_hosts(draft, self._kept):
                break
            if hosts > draft.idle:
                early = self._ahead and promised - self._drain > time
                kept = partial(self._kept_early, time, 1) if early else self._kept
                if hosts > draft.idle + spare_hosts(draft, kept):
                    break
                take_back(draft, hosts, kept, partial(self._late, time, 2))
            draft.set(progress, hosts)
            self._unstarted.remove(place)
        return math.inf

    def _look_ahead(self, draft: Draft) -> tuple[int, float]:
        """Return the hosts that starts need which are due within a drain, and when others must leave at the latest.

        The former are those beyond what tasks leave that are promised to end by then.
        """
        need, most = 0, 0
        for place in self._unstarted:
            item = self._places[place]
            if item.start - self._drain > draft.pool.time:
                return most, item.start - self._drain
            need += len(item.hosts)
            most = max(most, need - self._left_by(draft, item.start * (1 + _RELATIVE)))
        return most, math.inf

    def _left_by(self, draft: Draft, time: float) -> int:
        """Return the promised hosts of started tasks that are to end by then."""
        return sum(self._kept(each) for each in draft.having if self._limits[int(each.task.id)] <= time)

    def _kept(self, progress: ElasticProgress) -> int:
        return len(self._places[int(progress.task.id)].hosts)

    def _kept_early(self, time: float, changes: int, progress: ElasticProgress) -> int:
        """Return the hosts that a task keeps unless others need theirs: all of one that would be late without."""
        return progress.task.most if self._late(time, changes, progress) else self._kept(progress)

    def _late(self, time: float, changes: int, progress: ElasticProgress) -> bool:
        """Return whether a task ends late if it gives hosts back so many times until it has those promised."""
        task = progress.task
        shrinking = (changes if progress.hosts else changes - 1) * task.shrink_cost
        end = time + progress.pause + shrinking + progress.left * task.on(self._kept(progress))
        return task.shrink_cost > 0 and end > self._limits[int(task.id)]

    def _safe(self, draft: Draft, progress: ElasticProgress, hosts: int, needed: float) -> bool:
        """Return whether a task that grows ends in time even if it has its loan only until it is needed."""
        task, time = progress.task, draft.pool.time
        if progress.began is None and self._drain and hosts - draft.held(progress) > draft.idle - draft.pool.draining:
            return False  # it would begin later
        if task.grow_cost + task.shrink_cost == 0:
            return True
        begin = time + progress.pause + (task.grow_cost if progress.hosts else 0.0)
        back = max(begin, needed)
        left = progress.left - (back - begin) / task.on(hosts)
        if left <= 0.0:
            return True
        return back + task.shrink_cost + left * task.on(self._kept(progress)) <= self._limits[int(task.id)]


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
