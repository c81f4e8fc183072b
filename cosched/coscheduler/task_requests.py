"""Requests about live tasks are carried out: to cancel, edit, hold or release them, or to follow their users' own jobs.

Start at `TaskRequests.fulfil`; which tasks may be changed is said by `edits.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.coscheduler.edits import edited, why_unchangeable
from cosched.coscheduler.events import (
    AdoptedJobGone,
    AdoptedJobStarted,
    CancelRequested,
    EditRequested,
    HoldRequested,
    ReleaseRequested,
)
from cosched.coscheduler.task import TaskState

if TYPE_CHECKING:
    from cosched.coscheduler.attempts.lifecycle import AttemptLifecycle
    from cosched.coscheduler.planning.task_queue import TaskQueue
    from cosched.coscheduler.sharing.deadline_claims import DeadlineClaims
    from cosched.coscheduler.stages.chains import Chains
    from cosched.coscheduler.state import CoreState
    from cosched.coscheduler.task import Task

__all__ = ["TaskRequests"]


class TaskRequests:
    """Fulfils requests; one for a task that is over is ignored."""

    def __init__(
        self, state: CoreState, queue: TaskQueue, lifecycle: AttemptLifecycle, chains: Chains, claims: DeadlineClaims
    ) -> None:
        self._state = state
        self._queue = queue
        self._lifecycle = lifecycle
        self._chains = chains
        self._claims = claims

    def fulfil(
        self,
        event: CancelRequested | EditRequested | HoldRequested | ReleaseRequested | AdoptedJobGone | AdoptedJobStarted,
    ) -> None:
        """Cancel a live task, or change one that waits."""
        task = self._state.tasks.get(event.task)
        if task is None:
            return
        if isinstance(event, AdoptedJobGone | AdoptedJobStarted):
            self._follow(task, event)
        elif isinstance(event, CancelRequested) and task.stage is not None:
            self._chains.cancel(task, event.reason, event.time)
        elif isinstance(event, CancelRequested):
            self._lifecycle.cancel(task, event.reason, event.time)
        elif not why_unchangeable(task):
            self._change(task, event)

    def _change(self, task: Task, event: EditRequested | HoldRequested | ReleaseRequested) -> None:
        match event:
            case EditRequested():
                changed = self._claims.claim_anew(task, edited(task, event.edit), event.time)
            case HoldRequested():
                changed = task.with_status(held_by=event.by)
            case ReleaseRequested():
                changed = task.with_status(held_by="")
        if changed != task:
            self._state.put(changed)
            self._queue.change(task, changed)
            self._chains.protect(task.id, event.time)
            self._state.replan()

    def _follow(self, task: Task, event: AdoptedJobGone | AdoptedJobStarted) -> None:
        """End a waiting task with its user's own job, or follow where that runs."""
        if task.status.state is not TaskState.QUEUED or self._state.attempt_of(task.id) is not None:
            return
        if isinstance(event, AdoptedJobGone):
            self._lifecycle.cancel(task, "its job left the resource manager's queue without cosched", event.time)
        else:
            self._lifecycle.start(task.with_status(held_by=""), (), None, event.time)
            self._state.replan()
