"""Plan a whole queue by an elastic policy, which decides at each event how many hosts each task has.

Start at `reshaped_schedule`. Nothing is promised: tasks run in the pieces that come of it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.elastic.naming import named_pieces
from cosched.scheduling.elastic.tasks import ElasticTask
from cosched.scheduling.elastic.virtual_pool import run_elastic
from cosched.scheduling.schedule import Assignment, Schedule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.scheduling.elastic.tasks import ElasticParameters
    from cosched.scheduling.elastic.virtual_pool import Reshaping
    from cosched.scheduling.problem import Problem
    from cosched.scheduling.schedule import TaskPiece

__all__ = ["of_the_rest", "reshaped_schedule"]


def reshaped_schedule(problem: Problem, policy: Reshaping, parameters: ElasticParameters) -> Schedule:
    """Return the schedule that a policy makes of a queue, with its pieces.

    Tasks come when they are released and their predecessors have ended. One that is not elastic keeps the number of
    hosts that the policy starts it on; none is suspended.

    Args:
        problem: hosts of one class that are always there, each for one task.
        policy: decides at each event.
        parameters: of the policy.
    """
    names = [f"{task:06}" for task in range(len(problem.tasks))]  # in the pool, so that equals stay in their order
    after = {names[task]: [names[other] for other in others] for task, others in enumerate(problem.depends_on)}
    running = {names[task]: each for task, each in (problem.running or {}).items()}
    tasks = [_pool_task(problem, task, name) for task, name in enumerate(names)]
    runs = run_elastic(tasks, len(problem.hosts), policy, parameters, after, running=running)
    pieces = named_pieces(problem, [problem.tasks[int(run.task.id)] for run in runs], runs)
    return Schedule(_from_start_to_end(pieces), tuple(pieces))


def _pool_task(problem: Problem, task: int, name: str) -> ElasticTask:
    """Return a task of the problem as the pool knows it; of one that is not elastic the cheapest count is preferred."""
    submitted = float(problem.release[task])
    if problem.elastic and task in problem.elastic:
        return replace(problem.elastic[task], id=name, submitted=submitted)
    seconds = problem.seconds[int(problem.host_class[0]), task]
    counts = np.flatnonzero(np.isfinite(seconds)) + 1
    preferred = min(counts.tolist(), key=lambda count: (count * seconds[count - 1], seconds[count - 1]))
    bounds = int(counts[0]), int(counts[-1]), preferred
    return ElasticTask(name, tuple(seconds.tolist()), *bounds, submitted=submitted, moldable=True)


def _from_start_to_end(pieces: Sequence[TaskPiece]) -> tuple[Assignment, ...]:
    first = {piece.task: piece for piece in reversed(pieces)}
    end = {piece.task: piece.end for piece in pieces}
    return tuple(Assignment(name, first[name].hosts, first[name].start, end[name]) for name in reversed(first))


def of_the_rest(problem: Problem) -> Problem:
    """Return a problem for bounds: of tasks that run there is what is left, and on their hosts where they keep these.

    Of which hosts they have it knows nothing.
    """
    if not problem.running:
        return problem
    seconds = problem.seconds.copy()
    for task, running in problem.running.items():
        if not problem.elastic or task not in problem.elastic:
            others = np.arange(seconds.shape[2]) != len(running.hosts) - 1
            seconds[:, task, others] = math.inf
        seconds[:, task] *= running.left
    return replace(problem, seconds=seconds)
