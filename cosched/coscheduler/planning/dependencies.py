"""Tasks that come after others are planned behind the expected ends of these.

A task names only tasks accepted before it; one that it names and that is no longer alive has completed: had it ended
otherwise, the task would have ended with it (`AttemptEnds.end_task`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cosched.coscheduler.attempts.attempt import AttemptState
from cosched.coscheduler.places.hosts import predicted_end

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.task import Task
    from cosched.scheduling.problem import Problem

__all__ = ["expected_completion", "with_dependencies"]

_FORESEEABLE = (AttemptState.SUBMITTING, AttemptState.SUBMITTED, AttemptState.RUNNING)


def expected_completion(attempt: Attempt | None, now: float, handover: float) -> float | None:
    """Return the expected completion of an attempt's task, epoch seconds; None if unknown."""
    if attempt is None or attempt.state not in _FORESEEABLE:
        return None
    return predicted_end(attempt, now, handover)


def with_dependencies(
    problem: Problem, tasks: Mapping[str, Task], end: Callable[[str], float | None], now: float
) -> Problem | None:
    """Return the problem with its tasks' predecessors added.

    A task is left out if a predecessor's completion cannot be predicted: it cannot be planned yet.

    Args:
        problem: the waiting tasks as if they were independent; its origin is `now`.
        tasks: all live tasks by identifier.
        end: when a task that does not wait is expected to have completed, epoch seconds; None where that is not known.
        now: epoch seconds.

    Returns:
        The problem; None where nothing is left of it.
    """
    rows = {name: row for row, name in enumerate(problem.tasks)}
    inside: dict[int, list[int]] = {}  # row → rows of the tasks that it comes after
    release = problem.release.copy()
    for name in sorted(problem.tasks, key=lambda name: tasks[name].number):  # whom a task names has come before it
        row = rows[name]
        before = [other for other in tasks[name].spec.after if other in tasks]
        ends = [end(other) for other in before if other not in rows]
        planned = [rows[other] for other in before if other in rows]
        if None in ends or not all(other in inside for other in planned):
            continue
        inside[row] = planned
        if ends:
            release[row] = max([release[row], *(each - now for each in ends if each is not None)])
    kept = sorted(inside)
    if not kept:
        return None
    places = {row: place for place, row in enumerate(kept)}
    return replace(
        problem,
        tasks=tuple(problem.tasks[row] for row in kept),
        seconds=np.ascontiguousarray(problem.seconds[:, kept]),
        release=release[kept],
        deadline=problem.deadline[kept],
        depends_on=tuple(tuple(places[other] for other in inside[row]) for row in kept),
        weight=None if problem.weight is None else problem.weight[kept],
        waited=None if problem.waited is None else problem.waited[kept],
    )
