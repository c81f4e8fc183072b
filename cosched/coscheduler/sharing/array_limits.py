"""Limits of arrays say how many tasks of one may run at once.

Start at `array_room` for what may leave now and at `with_array_limits` for plans.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.coscheduler.task import Task
    from cosched.scheduling.problem import Problem

__all__ = ["array_obstacle", "array_room", "with_array_limits"]


def array_room(task: Task, live: Mapping[str, int]) -> float:
    """Return how many more tasks of its array a task's limit lets start; infinite for no limit.

    Args:
        task: may be of an array.
        live: attempts that have not ended, by array.
    """
    most = task.spec.array_at_most
    return most - live.get(task.spec.array, 0) if most and task.spec.array else math.inf


def array_obstacle(task: Task, live: Mapping[str, int]) -> str:
    """Say that as many of a task's array run as may; empty where not."""
    if array_room(task, live) > 0:
        return ""
    spec = task.spec
    return f"its array, {spec.array}: {live[spec.array]} of its tasks have left, and at most {spec.array_at_most} may"


def with_array_limits(problem: Problem, tasks: Mapping[str, Task], ends: Mapping[str, Sequence[float]]) -> Problem:
    """Return a problem in which no array has more tasks at once than may be.

    A task that would be one too many comes after one of its array: one that runs, or the one that is as many places
    before it as may run at once. This is a little stricter than the limit where the tasks take different times.

    Args:
        problem: of the waiting tasks.
        tasks: all live tasks by identifier.
        ends: when the live attempts of each array should have ended, seconds from the problem's origin, ascending.
    """
    arrays: dict[str, list[tuple[float, float, int, int]]] = {}
    for row, name in enumerate(problem.tasks):
        task = tasks[name]
        if task.spec.array_at_most and task.spec.array:
            due = math.inf if task.due is None else task.due
            arrays.setdefault(task.spec.array, []).append((-task.spec.priority, due, task.number, row))
    if not arrays:
        return problem
    release, before = problem.release.copy(), list(problem.depends_on or ((),) * len(problem.tasks))
    for array, turns in arrays.items():
        rows = [row for *_, row in sorted(turns)]
        most = min(tasks[problem.tasks[row]].spec.array_at_most for row in rows)
        running = ends.get(array, ())
        places = [0.0] * (most - len(running)) + list(running[max(len(running) - most, 0) :])
        for place, row in zip(range(most), rows, strict=False):
            release[row] = max(release[row], places[place])
        for ahead, row in zip(rows, rows[most:], strict=False):
            if ahead not in before[row]:
                before[row] = (*before[row], ahead)
    return replace(problem, release=release, depends_on=tuple(before))
