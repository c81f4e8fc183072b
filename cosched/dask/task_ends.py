"""Ends of a Dask cluster's tasks, heard once for all who learn from them: start at `TaskEnds`.

With each task that has ended, the scheduler is told when its worker computed it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from distributed import SchedulerPlugin

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from distributed import Scheduler

__all__ = ["EndedTask", "Learner", "TaskEnds"]


class EndedTask(NamedTuple):
    """A task that a worker has ended. Times are epoch seconds on the scheduler's clock.

    Attributes:
        key: of Dask.
        computed: from when until when.
    """

    key: Any
    computed: tuple[tuple[float, float], ...]


class Learner(Protocol):
    """Learns of workers by the tasks that they end; workers are named by their addresses."""

    def note(self, worker: str, task: EndedTask) -> None:
        """Take the end of a task, which the worker computed."""
        ...

    def forget(self, worker: str) -> None:
        """Forget a worker that is gone."""
        ...


class TaskEnds(SchedulerPlugin):  # type: ignore[misc]  # distributed has no types
    """Hands ends of tasks on to learners. Dask calls its methods in the scheduler's event loop."""

    name = "cosched-task-ends"

    def __init__(self, scheduler: Scheduler, *learners: Learner) -> None:
        """Set up, to hear of the scheduler's tasks."""
        self._learners = learners
        scheduler.add_plugin(self)

    def transition(
        self,
        key: Any,
        start: str,
        finish: str,
        *_others: Any,
        worker: str = "",
        startstops: Iterable[Mapping[str, Any]] = (),
        **_more: Any,
    ) -> None:
        """Take the end of a task."""
        if (start, finish) != ("processing", "memory") or not worker:
            return
        computed = tuple([(each["start"], each["stop"]) for each in startstops if each["action"] == "compute"])
        if computed:
            for learner in self._learners:
                learner.note(worker, EndedTask(key, computed))

    def remove_worker(self, *, worker: str, **_more: Any) -> None:
        """Have a worker forgotten that is gone."""
        for learner in self._learners:
            learner.forget(worker)
