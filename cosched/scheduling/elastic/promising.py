"""Choose what elastic tasks are promised: the planned number of hosts, or fewer where loans make more of that.

Start at `promise_hosts`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.bounds import lower_bound
from cosched.scheduling.decoding.decoder import decode
from cosched.scheduling.elastic.expected import expected_schedule
from cosched.scheduling.objective.objective import measure_pieces, objective
from cosched.scheduling.objective.weights import Weights
from cosched.scheduling.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.scheduling.problem import Problem
    from cosched.scheduling.schedule import Schedule, TaskPiece

__all__ = ["PromisedPlan", "promise_hosts"]


@dataclass(frozen=True, slots=True)
class PromisedPlan:
    """A schedule that is promised, and the pieces that are expected of it."""

    promised: Schedule
    pieces: Sequence[TaskPiece]


def promise_hosts(problem: Problem, planned: Schedule, weights: Weights | None = None) -> PromisedPlan:
    """Return the best of three promises: the planned counts, the preferred ones, and the least, in the planned order.

    A promise that makes more tasks late, or tasks later, than the planned one is not taken. Of the others the one with
    the least objective is, see `measure_pieces`.

    Args:
        problem: with elastic tasks.
        planned: its schedule by any policy.
        weights: weights of the objective's terms.
    """
    elastic = problem.elastic or {}
    index = {name: task for task, name in enumerate(problem.tasks)}
    order = np.array([index[item.task] for item in sorted(planned.assignments, key=lambda item: item.start)])
    counts = np.ones(len(problem.tasks), dtype=np.int64)
    for item in planned.assignments:
        counts[index[item.task]] = len(item.hosts)
    schedules = [planned]
    for choice in ("preferred", "least"):
        promises = counts.copy()
        for task, bounds in elastic.items():
            promises[task] = bounds.fitting(bounds.preferred if choice == "preferred" else bounds.least)
        if not np.array_equal(promises, counts):
            schedules.append(decode(problem, Plan(order, promises)))
    lateness = [_lateness(problem, schedule) for schedule in schedules]
    found = [
        PromisedPlan(schedule, expected_schedule(problem, schedule))
        for schedule, late in zip(schedules, lateness, strict=True)
        if late[0] <= lateness[0][0] and late[1] <= lateness[0][1]
    ]
    chosen, bound = weights or Weights(), lower_bound(problem)
    return min(found, key=lambda plan: objective(measure_pieces(problem, plan.promised, plan.pieces), chosen, bound))


def _lateness(problem: Problem, schedule: Schedule) -> tuple[int, float]:
    """Return the number of late tasks, and the sum of their seconds."""
    due = dict(zip(problem.tasks, problem.deadline.tolist(), strict=True))
    late = [item.end - due[item.task] for item in schedule.assignments if item.end > due[item.task]]
    return len(late), sum(late)
