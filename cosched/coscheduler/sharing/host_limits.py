"""Limits of running hosts say how many more a user's tasks may take.

Start at `HostRoom`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING

from cosched.coscheduler.sharing.shares import fewest_hosts, share_user

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.places.hosts import DomainHosts
    from cosched.coscheduler.sharing.shares import Shares
    from cosched.coscheduler.task import Task

__all__ = ["HostRoom", "fewest_charged"]

_ROUNDED = 1e-9  # of a host: parts of hosts are no round numbers, and ten tenths are one


def fewest_charged(task: Task, domain: DomainHosts) -> float:
    """Return the fewest hosts that a task is charged for, parts of hosts counted as parts."""
    return min([fewest_hosts(shape) * domain.part(domain.share_of(shape.spec)) for shape in task.shapes()])


class HostRoom:
    """Hosts that tasks may still take under the limits of their users and groups."""

    def __init__(self, shares: Shares | None, attempts: Iterable[Attempt], tasks: Mapping[str, Task]) -> None:
        """Count the hosts of live attempts.

        Args:
            shares: the tree; None for no limits.
            attempts: live ones.
            tasks: live tasks by identifier.
        """
        self._shares = shares if shares is not None and shares.limits_hosts else None
        self._taken: defaultdict[str, float] = defaultdict(float)  # parts of hosts count where these are shared
        self._live = [(attempt, share_user(tasks[attempt.task])) for attempt in attempts] if self._shares else []
        for attempt, user in self._live:
            self.take(user, attempt.charged_hosts)

    @property
    def limited(self) -> bool:
        """Return whether there are limits at all."""
        return self._shares is not None

    def take(self, user: str, hosts: float) -> None:
        """Count hosts that a user's task takes."""
        if self._shares is not None:
            for name in (user, f":{self._shares.group_of(user)}"):
                self._taken[name] += hosts

    def most(self, user: str) -> float:
        """Return how many hosts a user's tasks may have at once, with what rounding may add; infinite for no bound."""
        return min(limit for limit, _ in self._limits(user))

    def left(self, user: str) -> float:
        """Return how many more hosts a user's tasks may take now, with what rounding may add."""
        return min(limit - self._taken[name] for limit, name in self._limits(user))

    def suffices_at(self, user: str, hosts: float, end: Callable[[Attempt], float]) -> float:
        """Return when a user may take so many hosts, epoch seconds.

        It is -inf for now and infinite for never.

        Args:
            user: the user.
            hosts: how many.
            end: returns when a live attempt ends.
        """
        if self._shares is None or hosts <= self.left(user):
            return -math.inf
        group, latest = self._shares.group_of(user), -math.inf
        for limit, name in self._limits(user):
            same = [
                attempt
                for attempt, other in self._live
                if (other == user if name == user else self._shares.group_of(other) == group)
            ]
            excess = self._taken[name] + hosts - limit
            latest = max(latest, _freed_at(same, excess, end))
        return latest

    def _limits(self, user: str) -> list[tuple[float, str]]:
        """Return limits, with what rounding may add, and the names under which hosts are counted for them."""
        if self._shares is None:
            return [(math.inf, user)]
        found = [(self._shares.of_user(user).hosts, user)]
        if group := self._shares.group_of(user):
            found.append((self._shares.of_group(group).hosts, f":{group}"))
        return [(math.inf if limit is None else limit + _ROUNDED, name) for limit, name in found]


def _freed_at(attempts: Iterable[Attempt], hosts: float, end: Callable[[Attempt], float]) -> float:
    """Return when so many hosts of attempts have come free."""
    if hosts <= 0:
        return -math.inf
    for time, count in sorted((end(attempt), attempt.charged_hosts) for attempt in attempts):
        hosts -= count
        if hosts <= _ROUNDED:
            return time
    return math.inf
