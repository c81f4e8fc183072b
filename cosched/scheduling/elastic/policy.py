"""An elastic policy says at each event how many hosts each task has; this is its interface, with shared parts.

`Draft` is an allocation in the making; `starting` and `lending` have the parts that several policies are made of.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

from cosched.scheduling.elastic.tasks import Allocation, PoolMemory

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cosched.scheduling.elastic.tasks import ElasticParameters, ElasticPool, ElasticProgress

__all__ = ["Draft", "ElasticPolicy", "ElasticPolicyName"]


class ElasticPolicyName(StrEnum):
    """Names of the policies, in the order in which they are listed."""

    IDEAL = "ideal"
    MOLDABLE_NOW = "moldable-now"
    SRT_HARVEST = "srt-harvest"
    IB_HARVEST = "ib-harvest"
    EQUI = "equi"
    HESRPT = "hesrpt"
    KEEP_PREFERRED = "keep-preferred"
    SATIN = "satin"
    MARGINAL = "marginal"


class ElasticPolicy(ABC):
    """A way to divide hosts among elastic tasks; the registry holds one object of each class.

    Attributes:
        name: name of the policy, as users write it.
        summary: its method, in a line.
        resizes: whether it changes the hosts of running tasks.
    """

    name: ClassVar[ElasticPolicyName]
    summary: ClassVar[str]
    resizes: ClassVar[bool] = True

    @abstractmethod
    def reshape(self, pool: ElasticPool, parameters: ElasticParameters) -> Allocation:
        """Return the allocation from now on; it depends on nothing but the arguments.

        A task that is not resized stays in it with the hosts that it has.
        """


class Draft:
    """An allocation in the making: it begins as things are.

    Attributes:
        pool: the pool.
        tasks: every task's progress as it was at the event, by name.
        hosts: hosts of each task that has any.
        idle: hosts that nobody has.
        waiting: tasks without hosts, in order of arrival.
    """

    def __init__(self, pool: ElasticPool) -> None:
        self.pool = pool
        self.tasks = {each.task.id: each for each in (*pool.running, *pool.waiting)}
        self.hosts = {each.task.id: each.hosts for each in pool.running}
        self.idle = pool.idle
        self.waiting = list(pool.waiting)

    @property
    def having(self) -> list[ElasticProgress]:
        """Tasks that have hosts, with the progress of before."""
        return [self.tasks[name] for name in self.hosts]

    def set(self, progress: ElasticProgress, hosts: int) -> None:
        """Let a task have so many hosts from now on; with 0 it waits."""
        name = progress.task.id
        before = self.hosts.get(name, 0)
        self.idle += before - hosts
        if hosts:
            self.hosts[name] = hosts
        else:
            del self.hosts[name]
            self.waiting.append(progress)
        if not before and hosts:
            self.waiting.remove(progress)

    def held(self, progress: ElasticProgress) -> int:
        """Return the hosts that a task has in the draft."""
        return self.hosts.get(progress.task.id, 0)

    def remaining(self, progress: ElasticProgress) -> float:
        """Return the seconds until a task ends on its hosts in the draft."""
        return progress.pause + progress.remaining_on(self.held(progress))

    def allocation(self, memory: PoolMemory | None = None) -> Allocation:
        """Return the allocation; without a memory the pool's is kept."""
        return Allocation(dict(self.hosts), self.pool.memory if memory is None else memory)


def by_arrival(tasks: Iterable[ElasticProgress]) -> list[ElasticProgress]:
    """Return tasks in order of arrival."""
    return sorted(tasks, key=lambda each: (each.task.submitted, each.task.id))
