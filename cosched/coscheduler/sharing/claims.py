"""A deadline claims host-seconds of a budget; without a claim it is not planned towards.

Start at `claimed`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.coscheduler.sharing.shares import share_user

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.coscheduler.sharing.fair_shares import FairShares
    from cosched.coscheduler.sharing.shares import UserUsage
    from cosched.coscheduler.task import Task

__all__ = ["claimed", "given_back", "granted_claim", "needed_host_seconds"]

_HOUR = 3600.0


def needed_host_seconds(seconds: NDArray[np.float64], left: float) -> float:
    """Return the fewest host-seconds with which a task ends in time; 0 for none.

    Args:
        seconds: (classes, hosts) run times, infinite where impossible.
        left: seconds until the deadline.
    """
    best = seconds.min(axis=0)
    in_time = best <= left
    counts = np.arange(1, len(best) + 1)
    return float((best * counts)[in_time].min()) if in_time.any() else 0.0


def granted_claim(fair: FairShares, task: Task, host_seconds: float, time: float) -> float:
    """Return the claim that a task's deadline would have now.

    It is 0 where the deadline cannot be met or a budget is used up. Arguments are those of `claimed`.
    """
    assert fair.tree is not None, "without shares nothing is claimed"
    left = _budget_left(fair, share_user(task), fair.tree.window_begin(time))
    return host_seconds if 0 < host_seconds <= left else 0.0


def claimed(fair: FairShares, task: Task, host_seconds: float, time: float) -> tuple[Task, UserUsage | None]:
    """Return a task with its claim, and its user's new record.

    The record is None where nothing is claimed, see `granted_claim`.

    Args:
        fair: the shares in force.
        task: a task with a deadline.
        host_seconds: what it needs, see `needed_host_seconds`.
        time: epoch seconds.
    """
    assert fair.tree is not None, "without shares nothing is claimed"
    claim, usage = granted_claim(fair, task, host_seconds, time), None
    if claim:
        usage = fair.record(share_user(task)).claiming(claim, fair.tree.window_begin(time))
        fair.put(usage)
    return task.with_status(claim=claim), usage


def given_back(fair: FairShares, task: Task, time: float) -> UserUsage | None:
    """Give back what a task has claimed in this window.

    Returns:
        Its user's record; None where nothing changes.
    """
    if fair.tree is None or not task.status.claim:
        return None
    window, at = fair.tree.window_begin(time), task.status.claimed_at
    if window != fair.tree.window_begin(task.submitted if at is None else at):
        return None
    usage = fair.record(share_user(task)).claiming(-task.status.claim, window)
    fair.put(usage)
    return usage


def _budget_left(fair: FairShares, user: str, window: float) -> float:
    """Return how many host-seconds a user's deadlines may still claim in a window."""
    tree = fair.tree
    assert tree is not None
    left = np.inf
    if (budget := tree.of_user(user).budget) is not None:
        left = budget * _HOUR - fair.record(user).claimed_in(window)
    group = tree.group_of(user)
    if group and (budget := tree.of_group(group).budget) is not None:
        together = sum(each.claimed_in(window) for each in fair.records() if tree.group_of(each.user) == group)
        left = min(left, budget * _HOUR - together)
    return float(left)
