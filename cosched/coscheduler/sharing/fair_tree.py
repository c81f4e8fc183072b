"""The fair tree says who is next.

From the root down it is the sibling with the least usage for its weight.

The rule is that of Slurm's `PriorityFlags=FAIR_TREE`. Start at `fair_order`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from cosched.coscheduler.sharing.shares import Shares

__all__ = ["fair_order", "fair_tree_factors", "group_usage"]


def group_usage(shares: Shares, used: Mapping[str, float]) -> dict[str, float]:
    """Return the usage of each group, the sum of its members'."""
    groups = dict.fromkeys(shares.groups, 0.0)
    for user, seconds in used.items():
        group = shares.group_of(user)
        if group:
            groups[group] = groups.get(group, 0.0) + seconds
    return groups


def fair_order(shares: Shares, used: Mapping[str, float], tasks: Sequence[tuple[str, float]]) -> list[int]:
    """Return the places of tasks in fair order; one user's keep their order.

    Each task is charged as it is taken, so that a user's many tasks alternate with those of others.

    Args:
        shares: the tree.
        used: decayed host-seconds by user; who is not named has none.
        tasks: user and host-seconds of each.
    """
    queue = _FairQueue(shares, used, tasks)
    return [queue.take() for _ in tasks]


class _FairQueue:
    """Tasks by user, and heaps of siblings, the next one first."""

    def __init__(self, shares: Shares, used: Mapping[str, float], tasks: Sequence[tuple[str, float]]) -> None:
        self._shares = shares
        self._tasks = tasks
        self._used, self._group_used = dict(used), group_usage(shares, used)
        self._queues: dict[str, deque[int]] = {}
        for place, (user, _) in enumerate(tasks):
            self._queues.setdefault(user, deque()).append(place)
        self._inside: dict[str, list[tuple[float, int, str]]] = {}
        for user in self._queues:
            self._inside.setdefault(shares.group_of(user), []).append(self._of_user(user))
        for heap in self._inside.values():
            heapify(heap)
        self._root = [(*entry, "") for entry in self._inside.pop("", [])]
        self._root += map(self._of_group, self._inside)
        heapify(self._root)

    def take(self) -> int:
        """Return the place of the next task, and charge its user and group."""
        _, _, user, group = heappop(self._root)
        if group:
            _, _, user = heappop(self._inside[group])
        place, left = self._queues[user].popleft(), self._queues[user]
        seconds = self._tasks[place][1]
        self._used[user] = self._used.get(user, 0.0) + seconds
        if group:
            self._group_used[group] = self._group_used.get(group, 0.0) + seconds
            if left:
                heappush(self._inside[group], self._of_user(user))
            if self._inside[group]:
                heappush(self._root, self._of_group(group))
        elif left:
            heappush(self._root, (*self._of_user(user), ""))
        return place

    def _of_user(self, user: str) -> tuple[float, int, str]:
        return self._used.get(user, 0.0) / self._shares.of_user(user).weight, self._queues[user][0], user

    def _of_group(self, group: str) -> tuple[float, int, str, str]:
        """Return a group's entry at the root; of equals the first to arrive is next."""
        level = self._group_used.get(group, 0.0) / self._shares.of_group(group).weight
        return level, self._inside[group][0][1], "", group


def fair_tree_factors(shares: Shares, used: Mapping[str, float], users: Iterable[str]) -> dict[str, float]:
    """Return each user's fair-tree factor: 1 for the first, 1/n for the last of n.

    Equals have the same.

    Args:
        shares: the tree.
        used: decayed host-seconds by user.
        users: who is ranked.
    """
    ranked: Collection[str] = set(users)
    groups = group_usage(shares, used)

    def level(user: str) -> tuple[float, str, float]:
        own, group = used.get(user, 0.0) / shares.of_user(user).weight, shares.group_of(user)
        if not group:
            return own, "", 0.0
        return groups.get(group, 0.0) / shares.of_group(group).weight, group, own

    levels = {user: level(user) for user in ranked}
    ascending = sorted(levels.values())
    return {user: 1.0 - bisect_left(ascending, levels[user]) / len(ascending) for user in ranked}
