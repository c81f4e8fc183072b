"""Priorities order the tasks of one user; nobody gains over others by them.

Start at `priority_plan` for tasks without deadlines and at `with_priorities` for those with.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cosched.coscheduler.sharing.fair_shares import free_places
from cosched.coscheduler.sharing.shares import share_user

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cosched.coscheduler.task import Task
    from cosched.scheduling.plan import Plan
    from cosched.scheduling.problem import Problem

__all__ = ["priority_plan", "with_priorities"]


def priority_plan(problem: Problem, plan: Plan, tasks: Mapping[str, Task], first: int = 0) -> Plan:
    """Return the plan with each user's tasks without deadlines by priority.

    They exchange the places that they have, of those from `first` on. Tasks that cannot start yet keep their places.
    """
    places: dict[str, list[int]] = {}  # user → places of its tasks, ascending
    for place in free_places(problem, plan, first).tolist():
        places.setdefault(share_user(tasks[problem.tasks[plan.order[place]]]), []).append(place)
    order = plan.order.copy()
    for own in places.values():
        chosen = plan.order[own]
        priorities = [-tasks[problem.tasks[task]].spec.priority for task in chosen.tolist()]
        order[own] = chosen[np.argsort(priorities, kind="stable")]
    return replace(plan, order=order)


def with_priorities(problem: Problem, tasks: Mapping[str, Task]) -> Problem:
    """Return a problem whose deadlines count by their priorities among those of their users.

    A user's highest priority counts 1, the next one ½, then ⅓: a deadline never counts for more than without.
    """
    due = np.flatnonzero(np.isfinite(problem.deadline)).tolist()
    keys = [(share_user(tasks[name]), tasks[name].spec.priority) for name in map(problem.tasks.__getitem__, due)]
    ranks: dict[tuple[str, int], int] = {}
    for user in {user for user, _ in keys}:
        given = sorted({priority for other, priority in keys if other == user}, reverse=True)
        ranks |= {(user, priority): rank for rank, priority in enumerate(given, 1)}
    if max(ranks.values(), default=1) == 1:
        return problem
    weight = np.ones(len(problem.tasks)) if problem.weight is None else problem.weight.copy()
    weight[due] /= np.array([ranks[key] for key in keys])
    return replace(problem, weight=weight)
