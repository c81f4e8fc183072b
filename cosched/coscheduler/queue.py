"""Who waits: tasks with a profile in planned order, tasks without one in order of arrival."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from cosched.coscheduler.waiting import Waiting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cosched.coscheduler.task import Task

__all__ = ["Queue"]


class Queue:
    """The waiting tasks, and which of them may leave.

    Attributes:
        waiting: those with a profile: the current plan.
        held_back: tasks that are not tried again before an epoch time.
        asked: held task → how many times its origin was asked to let it start.
        offered: task that is offered to other domains before it leaves late → whether one may still take it.
        transit: tasks of other domains that wait for one that takes them, and never leave here.
    """

    def __init__(self, staging: float, waits: Callable[[str, float], bool] = lambda _task, _time: False) -> None:
        """Set up.

        Args:
            staging: seconds that a task waits for the search at most.
            waits: whether a task may not leave at a time for reasons that others know.
        """
        self._waits = waits
        self.waiting = Waiting()
        self.held_back: dict[str, float] = {}
        self.asked: dict[str, int] = {}
        self.offered: dict[str, bool] = {}
        self.transit: dict[str, None] = {}
        self._staging = staging
        self._passing: dict[str, None] = {}  # tasks without a profile; a dictionary keeps its order
        self._searched: set[str] = set()  # tasks that a settled plan of the search has covered

    def add(self, task: Task) -> None:
        """Put a new task at the end."""
        if task.in_transit:
            self.transit[task.id] = None
        elif task.profile is None:
            self._passing[task.id] = None
        else:
            self.waiting.add(task.id)

    def add_again(self, task: Task) -> None:
        """Put a task that had begun at the front; it has been through staging before."""
        if task.in_transit:
            self.transit[task.id] = None
        elif task.profile is None:
            self._passing = {task.id: None, **self._passing}
        else:
            self.waiting.add_first(task.id)
            self._searched.add(task.id)

    def remove(self, task: str) -> None:
        """Take a task out that leaves or has ended."""
        self.waiting.remove(task)
        self._passing.pop(task, None)
        self.transit.pop(task, None)
        self._searched.discard(task)
        self.offered.pop(task, None)
        self.release(task)

    def release(self, task: str) -> None:
        """Forget what held a task back."""
        self.held_back.pop(task, None)
        self.asked.pop(task, None)

    def searched(self, tasks: Iterable[str]) -> None:
        """Note that the search has looked at these tasks: their staging is over."""
        self._searched |= self.waiting.counts.keys() & set(tasks)

    def passing(self, time: float, most: int) -> list[str]:
        """Return the first tasks without a profile that may leave now, so many at most."""
        return list(islice((task for task in self._passing if self.may_leave(task, time)), most))

    def may_leave(self, task: str, time: float) -> bool:
        """Whether nothing holds the task back any more."""
        return self.held_back.get(task, 0.0) <= time and not self._waits(task, time)

    def staged(self, task: Task, time: float) -> bool:
        """Whether the task has waited long enough for the search."""
        return task.id in self._searched or time >= task.submitted + self._staging
