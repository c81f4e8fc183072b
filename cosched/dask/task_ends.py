"""Ends of a Dask cluster's tasks, heard once for all who learn from them: start at `TaskEnds`.

With each task that has ended, the scheduler is told when its worker computed it, and when it fetched what from whom.
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
        fetched: the same of each transfer, with the address of the worker that it came from.
    """

    key: Any
    computed: tuple[tuple[float, float], ...]
    fetched: tuple[tuple[str, float, float], ...]


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
        times = [(each["action"], each["start"], each["stop"], each.get("source", "")) for each in startstops]
        computed = tuple([(begin, end) for action, begin, end, _ in times if action == "compute"])
        fetched = tuple([(source, begin, end) for action, begin, end, source in times if action == "transfer"])
        if computed:
            for learner in self._learners:
                learner.note(worker, EndedTask(key, computed, fetched))

    def remove_worker(self, *, worker: str, **_more: Any) -> None:
        """Have a worker forgotten that is gone."""
        for learner in self._learners:
            learner.forget(worker)
