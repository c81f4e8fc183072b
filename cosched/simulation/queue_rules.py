"""Queues in virtual time follow Slurm's fair tree or HTCondor's effective priority.

The rules know neither plans nor deadlines. Start at `run_queue`.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from cosched.coscheduler.sharing.fair_tree import fair_tree_factors
from cosched.coscheduler.sharing.shares import UserUsage, decayed_host_seconds
from cosched.coscheduler.sharing.standing import entitled_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cosched.coscheduler.sharing.shares import Shares

__all__ = ["FairTreeRule", "PriorityRule", "QueueRule", "QueuedTask", "run_queue"]


@dataclass(frozen=True, slots=True)
class QueuedTask:
    """A task with its hosts; times are seconds, infinite while they have not come."""

    user: str
    hosts: int
    seconds: float
    submitted: float
    deadline: float | None
    started: float = math.inf
    finished: float = math.inf


class QueueRule(Protocol):
    """Chooses the next task."""

    @property
    def shares(self) -> Shares:
        """The tree."""
        ...

    def order(self, used: Mapping[str, float], running: Mapping[str, int], hosts: int) -> Sequence[str]:
        """Return the users that may start a task, the first one first.

        Args:
            used: decayed host-seconds by user, those of running tasks up to now among them.
            running: hosts that each user has.
            hosts: number of hosts.
        """
        ...


@dataclass(frozen=True, slots=True)
class FairTreeRule:
    """Slurm's rule: the user of the highest fair-tree factor is first."""

    shares: Shares

    def order(self, used: Mapping[str, float], running: Mapping[str, int], hosts: int) -> Sequence[str]:  # noqa: ARG002  not asked for
        """Return the users by their factors."""
        factors = fair_tree_factors(self.shares, used, used)
        return sorted(used, key=lambda user: -factors[user])


@dataclass(frozen=True, slots=True)
class PriorityRule:
    """HTCondor's rule: hosts are divided in inverse proportion to effective user priorities.

    The priority is max(0.5, real priority) × factor; the real one is decayed usage × ln 2 ÷ half-life. A user's
    factor is the inverse of the part that the tree entitles to.
    """

    shares: Shares

    def order(self, used: Mapping[str, float], running: Mapping[str, int], hosts: int) -> Sequence[str]:
        """Return the users below their slices by priority, then the others."""
        parts = entitled_parts(self.shares, used)
        real = {user: max(0.5, seconds * math.log(2) / self.shares.half_life) for user, seconds in used.items()}
        effective = {user: real[user] / parts[user] for user in used}
        whole = sum(1 / value for value in effective.values())
        above = {user: running[user] >= hosts / effective[user] / whole for user in used}
        return sorted(used, key=lambda user: (above[user], effective[user]))


def run_queue(
    rule: QueueRule,
    users: Sequence[str],
    hosts: int,
    backlog: int,
    end: float,
    task: Callable[[str, int, float], QueuedTask],
) -> list[QueuedTask]:
    """Run a day of a queue; return all of its tasks, those that began first.

    A task that does not fit lets others go before it.

    Args:
        rule: says who is next.
        users: who has tasks.
        hosts: number of hosts.
        backlog: tasks of each user that wait or run, always.
        end: when it ends, seconds.
        task: (user, number, time) → the user's next task.
    """
    waiting = {user: deque(task(user, number, 0.0) for number in range(backlog)) for user in users}
    given = dict.fromkeys(users, backlog)
    usage = {user: UserUsage(user) for user in users}
    half_life, time, free = rule.shares.half_life, 0.0, hosts
    running: list[tuple[float, int, QueuedTask]] = []
    began: list[QueuedTask] = []
    while time < end:
        while (started := _next(rule, waiting, usage, running, time, hosts, free)) is not None:
            waiting[started.user].remove(started)
            begun = replace(started, started=time, finished=time + started.seconds)
            began.append(begun)
            heapq.heappush(running, (begun.finished, len(began), begun))
            free -= begun.hosts
        time, _, ended = heapq.heappop(running)
        free += ended.hosts
        seconds = decayed_host_seconds(ended.hosts, ended.started, time, half_life)
        usage[ended.user] = usage[ended.user].charged(seconds, time, half_life)
        waiting[ended.user].append(task(ended.user, given[ended.user], time))
        given[ended.user] += 1
    return [*(each for each in began if each.started < end), *(each for some in waiting.values() for each in some)]


def _next(
    rule: QueueRule,
    waiting: Mapping[str, deque[QueuedTask]],
    usage: Mapping[str, UserUsage],
    running: Sequence[tuple[float, int, QueuedTask]],
    time: float,
    hosts: int,
    free: int,
) -> QueuedTask | None:
    """Return the first task that fits, by the rule; None for none."""
    half_life = rule.shares.half_life
    used = {user: each.at(time, half_life) for user, each in usage.items()}
    taken = dict.fromkeys(used, 0)
    for _, _, each in running:
        used[each.user] += decayed_host_seconds(each.hosts, each.started, time, half_life)
        taken[each.user] += each.hosts
    for user in rule.order(used, taken, hosts) if free else ():
        for task in waiting[user]:
            if task.hosts <= free:
                return task
    return None
