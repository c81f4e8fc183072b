"""Tasks that come after others: what a plan must know of it.

A task may name only tasks that were accepted before it, so that no circle can be closed. Whoever it names and is no
longer alive has completed: had one ended otherwise, the task would have ended with it (`Lifecycle.end`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cosched.coscheduler.domain import expected_end
from cosched.coscheduler.task import AttemptState, TaskState

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cosched.coscheduler.task import Attempt, Task
    from cosched.scheduling.problem import Problem

__all__ = ["foreseen_end", "linked", "without_predecessor"]

_FORESEEABLE = (AttemptState.SUBMITTING, AttemptState.SUBMITTED, AttemptState.RUNNING)


def foreseen_end(attempt: Attempt | None, now: float, handover: float) -> float | None:
    """Return when the task of an attempt is expected to have completed, epoch seconds; None where nobody can say."""
    if attempt is None or attempt.predicted is None or attempt.state not in _FORESEEABLE:
        return None
    return expected_end(attempt, now, handover)


def linked(
    problem: Problem, tasks: Mapping[str, Task], end: Callable[[str], float | None], now: float
) -> Problem | None:
    """Return a problem whose tasks wait for those that they come after.

    Left out is what comes after a task of which nobody can say when it will have completed: it cannot be planned yet.

    Args:
        problem: of the waiting tasks, as if they were independent; its origin is `now`.
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
        before = [other for other in tasks[name].after if other in tasks]
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
    )


def without_predecessor(task: Task, ended: Task) -> Task:
    """Return a waiting task as it ends because one that it was to come after has not completed."""
    how = "failed" if ended.state is TaskState.FAILED else "was cancelled"
    finished = None if ended.finished is None else max(ended.finished, task.submitted)
    reason = f"task {ended.id}, which it was to come after, {how}"
    return replace(task, state=TaskState.CANCELLED, reason=reason, finished=finished)
