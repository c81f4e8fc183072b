"""Limits that hold a waiting task back whatever the plan says: its owner's and its array's, and licences in use.

Start at `StartLimits.waits`, which the queue asks, and at `StartLimits.admits`, which the dispatcher asks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.coscheduler.sharing.array_limits import array_obstacle, array_room
from cosched.coscheduler.sharing.shares import share_user
from cosched.coscheduler.stages.kept_hosts import may_begin

if TYPE_CHECKING:
    from cosched.coscheduler.dispatching.submit_limits import SubmitLimits
    from cosched.coscheduler.state import CoreState
    from cosched.coscheduler.task import Task

__all__ = ["StartLimits"]


class StartLimits:
    """Says which tasks may leave now, beside running ones and those that left in the same dispatch."""

    def __init__(self, state: CoreState, submits: SubmitLimits) -> None:
        self._state = state
        self._submits = submits
        self._room = state.host_room()

    def count_hosts(self) -> None:
        """Count anew the hosts that users and groups have, before tasks are dispatched."""
        self._room = self._state.host_room()

    def waits(self, name: str, hosts: int, cores: int, time: float) -> bool:
        """Return whether a waiting task may not leave: for its predecessors, or at one of its limits.

        Args:
            name: the task.
            hosts: how many it has in the plan; 0 where that is not chosen yet.
            cores: what it takes of each of them in the plan; 0 where it has one shape, or none is chosen.
            time: epoch seconds.
        """
        task = self._state.tasks[name]
        return (
            bool(self._state.predecessors(task))
            or self.owner_is_limited(task, time)
            or self.lacks_room(task.shaped(cores, ()), hosts)
            or not self._state.licences.suffice(task)
            or not may_begin(self._state, task)
        )

    def admits(self, task: Task, hosts: int, time: float) -> bool:
        """Return whether a task may leave for so many hosts now."""
        return not (
            self.owner_is_limited(task, time)
            or self._room.left(share_user(task)) < self._charged(task, hosts)
            or self.array_is_full(task)
            or not self._state.licences.suffice(task)
            or not may_begin(self._state, task)
        )

    def take(self, task: Task, hosts: int) -> None:
        """Count the hosts of a task that leaves."""
        self._room.take(share_user(task), self._charged(task, hosts))

    def owner_is_limited(self, task: Task, time: float) -> bool:
        """Return whether the manager takes no more attempts of a task's owner for now."""
        return self._submits.room(task.owner, self._state.live_by_owner[task.owner], time) < 1

    def lacks_room(self, task: Task, hosts: int) -> bool:
        """Return whether a task's array, user or group has too many hosts for it now.

        Args:
            task: in the shape that is planned.
            hosts: as for `waits`; a task without a profile takes as many as it asks for.
        """
        count = task.spec.count if task.profile is None else max(hosts, 1)
        user, charged = share_user(task), self._charged(task, count)
        if task.profile is not None:  # by the next plan it has no more than there may be
            charged = min(charged, self._room.most(user))
        return self.array_is_full(task) or charged > self._room.left(user)

    def array_is_full(self, task: Task) -> bool:
        """Return whether as many tasks of a task's array run as may."""
        return array_room(task, self._state.live_by_array) < 1

    def array_obstacle(self, task: Task) -> str:
        """Say that as many tasks of a task's array run as may; empty where not."""
        return array_obstacle(task, self._state.live_by_array)

    def _charged(self, task: Task, hosts: int) -> float:
        """Return the hosts that a task is charged for, parts of hosts counted as parts."""
        return hosts * self._state.hosts.part(self._state.hosts.share_of(task.spec))
