"""An elastic task, how far it has come, and the pool of hosts that a policy divides; start at `ElasticPool`.

The hosts are alike. A task on w hosts does 1/t(w) of itself in a second, t being its run time on w hosts from start to
end; more hosts than make it shorter are left unused. A change of its hosts costs seconds in which it does not go on.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "Allocation",
    "ElasticParameters",
    "ElasticPool",
    "ElasticProgress",
    "ElasticTask",
    "HostLoan",
    "PoolMemory",
    "RunningTask",
]


@dataclass(frozen=True, slots=True)
class ElasticTask:
    """A task that may change its number of hosts while it runs.

    Attributes:
        id: its name.
        seconds: run times on 1, 2, … hosts, above 0; infinite where it cannot run on so many.
        least: fewest hosts on which it runs; its run time there is finite.
        most: most hosts that it may have; as many as `least` for a rigid task.
        preferred: number that its user would choose.
        grow_cost: seconds in which it does not go on after hosts have joined.
        shrink_cost: likewise after hosts have left.
        drain: seconds from the order to leave until a host is free.
        suspendable: whether it may lose all its hosts, wait, and go on later where it was.
        submitted: when it came, seconds.
        moldable: whether it keeps the hosts that it starts on, however many these are.
        useful: ascending numbers of hosts within least…most, each with a shorter run time than all before it.
    """

    id: str
    seconds: tuple[float, ...]
    least: int
    most: int
    preferred: int
    grow_cost: float = 0.0
    shrink_cost: float = 0.0
    drain: float = 0.0
    suspendable: bool = False
    submitted: float = 0.0
    moldable: bool = False
    useful: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Find the useful numbers of hosts.

        Raises:
            ValueError: the numbers of hosts do not ascend from least to most, or it cannot run on the least.
        """
        if not 1 <= self.least <= self.preferred <= self.most <= len(self.seconds):
            raise ValueError(f"task {self.id}: least, preferred and most hosts must ascend within its run times")
        if not math.isfinite(self.seconds[self.least - 1]):
            raise ValueError(f"task {self.id}: it cannot run on its least number of hosts, {self.least}")
        useful, shortest = [], math.inf
        for count in range(self.least, self.most + 1):
            if self.seconds[count - 1] < shortest:
                useful.append(count)
                shortest = self.seconds[count - 1]
        object.__setattr__(self, "useful", tuple(useful))

    @property
    def optimal(self) -> int:
        """The fewest hosts with the shortest run time."""
        return self.useful[-1]

    @property
    def shortest(self) -> float:
        """The shortest run time, in seconds."""
        return self.on(self.optimal)

    def kept_on(self, hosts: int) -> ElasticTask:
        """Return the task once it keeps so many hosts, a number on which it runs."""
        return replace(self, least=hosts, most=hosts, preferred=hosts)

    def on(self, hosts: int) -> float:
        """Return the run time on so many hosts, from start to end; infinite on fewer than the least."""
        return self.seconds[self.fitting(hosts) - 1] if hosts >= self.least else math.inf

    def fitting(self, hosts: int) -> int:
        """Return the largest useful number of at most so many hosts; 0 for none."""
        place = bisect_right(self.useful, hosts)
        return self.useful[place - 1] if place else 0

    def wider(self, hosts: int) -> int | None:
        """Return the next useful number above so many hosts; None where more do not help."""
        place = bisect_right(self.useful, hosts)
        return self.useful[place] if place < len(self.useful) else None

    def narrower(self, hosts: int) -> int | None:
        """Return the next useful number below so many hosts; None at the least."""
        place = bisect_left(self.useful, hosts)
        return self.useful[place - 1] if place else None


@dataclass(frozen=True, slots=True)
class RunningTask:
    """A task that runs already when a plan begins.

    Attributes:
        hosts: hosts that it has, by index.
        left: part of it that is still to do, above 0 and at most 1.
    """

    hosts: tuple[int, ...]
    left: float


@dataclass(frozen=True, slots=True)
class ElasticProgress:
    """How far a task has come.

    Attributes:
        task: the task.
        left: part of it that is still to do, above 0 and at most 1.
        hosts: hosts that it has; 0 where it waits.
        pause: seconds until it goes on, where a change of its hosts is under way.
        queued: so long ago, counted from now, as it has waited in all; only while it waits.
        began: when it first ran, seconds; None where it has not.
    """

    task: ElasticTask
    left: float = 1.0
    hosts: int = 0
    pause: float = 0.0
    queued: float = 0.0
    began: float | None = None

    @property
    def remaining(self) -> float:
        """Seconds until it ends on the hosts that it has; infinite where it waits."""
        return self.pause + self.left * self.task.on(self.hosts)

    def remaining_on(self, hosts: int) -> float:
        """Return the seconds of its rest on so many hosts, without those of a change."""
        return self.left * self.task.on(hosts)


@dataclass(frozen=True, slots=True)
class HostLoan:
    """Hosts that a running task gave to another, which returns them when it ends."""

    lender: str
    borrower: str
    hosts: int


@dataclass(frozen=True, slots=True)
class PoolMemory:
    """Memory of a policy from event to event.

    Attributes:
        protected: tasks from which no hosts may be taken.
        loans: loans that have not been returned.
    """

    protected: frozenset[str] = frozenset()
    loans: tuple[HostLoan, ...] = ()


@dataclass(frozen=True, slots=True)
class ElasticPool:
    """Hosts, and the tasks that wait for them and have them.

    Attributes:
        time: now, seconds.
        hosts: number of hosts.
        waiting: tasks without hosts, in order of arrival.
        running: tasks with hosts, in the order in which they got them.
        memory: what the policy remembered at the last event.
        event: number of the event, for what is drawn at it.
        draining: number of idle hosts that are not free yet.
    """

    time: float
    hosts: int
    waiting: tuple[ElasticProgress, ...]
    running: tuple[ElasticProgress, ...]
    memory: PoolMemory = PoolMemory()
    event: int = 0
    draining: int = 0

    @property
    def idle(self) -> int:
        """Number of hosts that nobody has."""
        return self.hosts - sum(each.hosts for each in self.running)


@dataclass(frozen=True, slots=True)
class Allocation:
    """What a policy decides at an event.

    Attributes:
        hosts: the number of hosts of each task that shall have any.
        memory: what is to be remembered.
        again: when the policy wants to decide again, seconds, even if nothing happens before.
    """

    hosts: Mapping[str, int]
    memory: PoolMemory = PoolMemory()
    again: float = math.inf

    def check(self, pool: ElasticPool) -> None:
        """Hold the allocation against the pool that it was made for.

        Raises:
            ValueError: it gives more hosts than there are, a task fewer or more than it may have, or takes all hosts of
                a task that must keep some.
        """
        known = {each.task.id: each for each in (*pool.running, *pool.waiting)}
        _refuse(sorted(set(self.hosts) - set(known)), "is not there")
        tasks = [(known[name].task, count) for name, count in self.hosts.items()]
        _refuse([task.id for task, count in tasks if not task.least <= count <= task.most], "has no such number")
        kept = (each.task for each in pool.running if not each.task.suspendable)
        _refuse([task.id for task in kept if task.id not in self.hosts], "cannot be suspended")
        if sum(self.hosts.values()) > pool.hosts:
            raise ValueError(f"{sum(self.hosts.values())} hosts are given, and there are {pool.hosts}")


def _refuse(tasks: Iterable[str], why: str) -> None:
    for task in tasks:
        raise ValueError(f"task {task} {why}")


@dataclass(frozen=True, slots=True)
class ElasticParameters:
    """Parameters of all policies; each reads its own.

    Attributes:
        harvest: srt-harvest takes hosts of R for S only if S's run time times this is below R's remaining time, 1 or
            more (HP).
        patience: srt-harvest lets a task wait for so many of its shortest run times at most (WP).
        impact: ib-harvest lets a task take so many of its shortest run times at most, above 1 (IP).
        payback: marginal changes hosts only where that saves so many times what the change costs.
        least_efficiency: satin takes hosts away below this efficiency.
        most_efficiency: satin adds hosts above this efficiency.
        backfill: whether tasks behind the first one that must wait may start where they do not delay it (EASY).
        seed: seed of what is drawn.
    """

    harvest: float = 1.5
    patience: float = 12.0
    impact: float = 1.7
    payback: float = 2.0
    least_efficiency: float = 0.3
    most_efficiency: float = 0.5
    backfill: bool = False
    seed: int = 0
