"""When the core looks for tasks that may leave: not at every event, as each look decodes the plan."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cosched.connector.jobs import JobState
from cosched.coscheduler.events import (
    AttemptSubmitted,
    JobReported,
    NeighboursChanged,
    PredictionPassed,
    Restored,
    SearchAwaited,
    TaskSubmitted,
)

if TYPE_CHECKING:
    from cosched.coscheduler.dispatching.submit_limits import SubmitLimits
    from cosched.coscheduler.events import Event
    from cosched.coscheduler.planning.task_queue import TaskQueue
    from cosched.coscheduler.state import CoreState

__all__ = ["DispatchLooks"]

_WINDOW = 0.25  # seconds during which tasks that arrive, and jobs that come forward, are looked at together


class DispatchLooks:
    """Says after which events the core looks for tasks that may leave.

    Attributes:
        last: when it last looked, epoch seconds; -inf where it looks at the next event, whichever that is.
    """

    def __init__(self, state: CoreState, queue: TaskQueue, limits: SubmitLimits, *, searched: bool) -> None:
        """Set up.

        Args:
            state: live tasks and attempts.
            queue: the waiting tasks.
            limits: how many attempts of an owner the manager takes.
            searched: whether tasks wait for the search to look at them.
        """
        self.last = -math.inf
        self._state = state
        self._queue = queue
        self._limits = limits
        self._searched = searched

    def due(self, event: Event) -> bool:
        """Return whether something may leave by this event.

        Decoding the plan for each of a thousand tasks that arrive together takes long: a task that is still to be
        searched for leaves no sooner by a look shortly after the last one. A job that goes on frees nothing, and one
        that the manager has accepted or begun frees no part of a shared host: there each look takes tens of
        milliseconds. Nor does it free a whole host in the very moment of the last look, as moments of virtual time are.
        """
        if isinstance(event, JobReported) and event.more:
            self.last = -math.inf  # whatever comes next looks at what this has freed
            return False
        if isinstance(event, NeighboursChanged | PredictionPassed | Restored | SearchAwaited):
            return False
        if event.time >= self.last + _WINDOW:
            return True
        if not isinstance(event, TaskSubmitted):
            looked = self._state.hosts.shared or (event.time == self.last and self._manager_takes_all)
            return not (looked and not self._state.elastic and _comes_forward(event))
        if not self._searched:
            return True
        return event.task.id not in self._queue.planned or self._queue.staged(event.task, event.time)

    @property
    def _manager_takes_all(self) -> bool:
        """Return whether the manager takes all that may leave: none waits for it to have taken another."""
        return not (self._state.unmodelled_submitting or self._limits.by_owner)


def _comes_forward(event: Event) -> bool:
    """Return whether an event tells of a job that the manager has or that has begun, and of nothing else."""
    if isinstance(event, JobReported):
        return event.report.state in (JobState.QUEUED, JobState.RUNNING)
    return isinstance(event, AttemptSubmitted)
