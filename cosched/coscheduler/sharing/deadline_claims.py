"""Deadlines of the core's tasks claim host-seconds of their users' budgets, where shares are in force.

Start at `DeadlineClaims.claim`; the rules are in `claims.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.coscheduler.planning.problem_builder import run_times
from cosched.coscheduler.sharing.claims import claimed, given_back, granted_claim, needed_host_seconds

if TYPE_CHECKING:
    from cosched.coscheduler.planning.planning_view import PlanningView
    from cosched.coscheduler.state import CoreState
    from cosched.coscheduler.task import Task

__all__ = ["DeadlineClaims"]


class DeadlineClaims:
    """Claims what deadlines need by today's predictions and hosts."""

    def __init__(self, state: CoreState, view: PlanningView) -> None:
        self._state = state
        self._view = view

    def foreseen(self, task: Task, time: float) -> Task:
        """Return a new task with the claim that its deadline would have; nothing is changed."""
        host_seconds = self._claimable(task, time)
        if host_seconds is None:
            return task
        return task.with_status(claim=granted_claim(self._state.shares, task, host_seconds, time))

    def claim(self, task: Task, time: float) -> Task:
        """Return a task with its deadline's claim, and write down what its user has claimed."""
        host_seconds = self._claimable(task, time)
        if host_seconds is None:
            return task
        task, usage = claimed(self._state.shares, task, host_seconds, time)
        self._state.put_usage(usage)
        return task

    def claim_anew(self, before: Task, after: Task, time: float) -> Task:
        """Return an edited task with its claim; what it had claimed before is given back."""
        if (after.spec.deadline, after.profile) == (before.spec.deadline, before.profile):
            return after
        self._state.put_usage(given_back(self._state.shares, before, time))
        return self.claim(after.with_status(claim=None, claimed_at=time), time)

    def _claimable(self, task: Task, time: float) -> float | None:
        """Return the host-seconds that a task needs for its deadline; None where it claims nothing."""
        profile = task.profile
        if self._state.shares.tree is None or profile is None or task.spec.deadline is None:
            return None
        domain = self._state.hosts
        up, class_of, needed = domain.up(), domain.classes(), list[float]()
        classes = sorted({class_of[host] for host in up})
        assumptions, left = self._view.assumptions(time), task.spec.deadline - time
        for shape in task.shapes():
            assert shape.profile is not None
            # Where no host is up, as it was predicted.
            seconds = run_times(shape, assumptions, classes, len(up)) if up else np.array([shape.profile.seconds])
            needed.append(needed_host_seconds(seconds, left) * domain.part(domain.share_of(shape.spec)))
        return min([each for each in needed if each], default=0.0)
