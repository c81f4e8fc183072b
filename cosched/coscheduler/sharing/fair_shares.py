"""The core remembers here the shares in force and each user's decayed usage.

Start at `FairShares.usage`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from cosched.coscheduler.sharing.fair_tree import fair_order, fair_tree_factors
from cosched.coscheduler.sharing.shares import UserUsage, decayed_host_seconds, share_user
from cosched.scheduling.plan import Plan
from cosched.scheduling.problem import Turns

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.sharing.shares import Shares
    from cosched.coscheduler.task import Task
    from cosched.scheduling.problem import Problem

__all__ = ["FairShares", "SharesSnapshot", "fair_plan", "free_tasks", "with_turns", "with_weights"]


@dataclass(frozen=True, slots=True)
class SharesSnapshot:
    """All that `FairShares` remembers; no tree where shares are not in force."""

    tree: Shares | None = None
    usage: tuple[UserUsage, ...] = ()


class FairShares:
    """Shares in force and what users have had.

    Attributes:
        tree: None where shares are not in force; then nothing is charged.
    """

    def __init__(self) -> None:
        self.tree: Shares | None = None
        self._usage: dict[str, UserUsage] = {}

    def snapshot(self) -> SharesSnapshot:
        """Return all that is remembered."""
        return SharesSnapshot(self.tree, tuple(self._usage.values()))

    def load(self, snapshot: SharesSnapshot) -> None:
        """Go on from a snapshot."""
        self.tree, self._usage = snapshot.tree, {each.user: each for each in snapshot.usage}

    def record(self, user: str) -> UserUsage:
        """Return the recorded usage of a user."""
        return self._usage.get(user) or UserUsage(user)

    def records(self) -> tuple[UserUsage, ...]:
        """Return the recorded usage of all users."""
        return tuple(self._usage.values())

    def put(self, usage: UserUsage) -> None:
        """Keep a user's record as it is now."""
        self._usage[usage.user] = usage

    def charge(self, attempt: Attempt, user: str, time: float) -> UserUsage | None:
        """Charge a user for an ended attempt.

        Returns:
            The new record; None where nothing is charged.
        """
        if self.tree is None or attempt.started is None:
            return None
        end = time if attempt.finished is None else min(attempt.finished, time)
        half_life = self.tree.half_life
        seconds = decayed_host_seconds(attempt.charged_hosts, attempt.started, end, half_life)
        if seconds <= 0:
            return None
        usage = self.record(user).charged(seconds * math.exp2(-(time - end) / half_life), time, half_life)
        self.put(usage)
        return usage

    def usage(self, time: float, attempts: Iterable[Attempt], tasks: Mapping[str, Task]) -> dict[str, float]:
        """Return each user's decayed host-seconds, of ended and of live attempts."""
        if self.tree is None:
            return {}
        half_life = self.tree.half_life
        used = {user: each.at(time, half_life) for user, each in self._usage.items()}
        for attempt in attempts:
            if attempt.started is not None:
                user = share_user(tasks[attempt.task])
                seconds = decayed_host_seconds(attempt.charged_hosts, attempt.started, time, half_life)
                used[user] = used.get(user, 0.0) + seconds
        return used


def free_tasks(problem: Problem) -> NDArray[np.bool_]:
    """Return the tasks without deadlines that could start now."""
    free = np.isinf(problem.deadline) & (problem.release <= 0)
    if problem.depends_on:
        free &= np.array([not before for before in problem.depends_on], dtype=np.bool_)
    return free


def free_places(problem: Problem, plan: Plan, first: int = 0) -> NDArray[np.int64]:
    """Return the places of a plan, from one on, that have tasks without deadlines that could start now."""
    return np.flatnonzero(free_tasks(problem)[plan.order[first:]]) + first


def with_turns(problem: Problem, plan: Plan, tasks: Mapping[str, Task]) -> Problem:
    """Return a problem whose search keeps the turns of users and priorities."""
    free = free_tasks(problem)
    users = [(share_user(tasks[name]), tasks[name].spec.priority) for name in problem.tasks]
    index = {user: place for place, user in enumerate(dict.fromkeys(compress(users, free.tolist())))}
    if len(index) < 2:
        return problem
    user = np.array([index[each] if able else -1 for each, able in zip(users, free, strict=True)], dtype=np.int64)
    in_order = user[plan.order]
    return replace(problem, turns=Turns(user, in_order[in_order >= 0]))


def with_weights(shares: Shares, used: Mapping[str, float], problem: Problem, tasks: Mapping[str, Task]) -> Problem:
    """Return a problem whose deadlines count by the fair-tree factors of their users."""
    due = np.isfinite(problem.deadline)
    users = [share_user(tasks[name]) for name in problem.tasks]
    factors = fair_tree_factors(shares, used, compress(users, due.tolist()))
    if len(set(factors.values())) < 2:
        return problem
    return replace(problem, weight=np.array([factors.get(user, 1.0) for user in users]))


def fair_plan(
    shares: Shares, used: Mapping[str, float], problem: Problem, plan: Plan, tasks: Mapping[str, Task], first: int = 0
) -> Plan:
    """Return the plan with tasks without deadlines in fair order; others keep their places.

    A task that cannot start yet keeps its place too: it would block who comes behind it.

    Args:
        shares: the tree.
        used: decayed host-seconds by user.
        problem: the waiting tasks.
        plan: a plan of this problem.
        tasks: all live tasks by identifier.
        first: place from which on tasks change theirs.
    """
    places = free_places(problem, plan, first)
    chosen = plan.order[places]
    users = [share_user(tasks[problem.tasks[task]]) for task in chosen.tolist()]
    if len(set(users)) < 2:
        return plan
    host_seconds = _host_seconds(problem, plan, chosen)
    order = plan.order.copy()
    order[places] = chosen[fair_order(shares, used, list(zip(users, host_seconds.tolist(), strict=True)))]
    return Plan(order, plan.counts, plan.classes)


def _host_seconds(problem: Problem, plan: Plan, tasks: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return what tasks will be charged for as they are planned."""
    rows, packing = plan.counts[tasks], problem.packing
    if packing is not None:
        charged: NDArray[np.float64] = packing.seconds[rows].min(axis=1) * packing.hosts[rows] * packing.part[rows]
        return charged
    whole: NDArray[np.float64] = problem.seconds[:, tasks, rows - 1].min(axis=0) * rows
    return whole
