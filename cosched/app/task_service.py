"""The task service lists, shows, explains and cancels tasks.

Another user's task is as absent as one that never was. New tasks: `cosched.app.submissions`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cosched.api.documents import TaskPage
from cosched.api.problems import NotFoundError
from cosched.app.views import ended_explanation, explanation_view, listed_view, task_detail, task_view
from cosched.coscheduler.events import CancelRequested

if TYPE_CHECKING:
    from cosched.access.principals import Principal
    from cosched.api.documents import ExplanationView, TaskDetail, TaskView
    from cosched.app.core_access import CoreClient
    from cosched.app.neighbour_access import NeighbourAccess
    from cosched.app.outputs import TaskOutputs
    from cosched.connector.interface import Output
    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.task import Task
    from cosched.store.store import Store, TaskSelection

__all__ = ["TaskService"]

_LOG_LINES = 200


class TaskService:
    """Answers for tasks that were accepted. Methods may block; any thread may call them.

    Each raises `NotFoundError` for a task that the principal may not see, `SystemFault` where core or database fail.
    """

    def __init__(self, core: CoreClient, store: Store, outputs: TaskOutputs, neighbours: NeighbourAccess) -> None:
        self._core = core
        self._store = store
        self._outputs = outputs
        self._neighbours = neighbours

    def tasks(self, principal: Principal, selection: TaskSelection, limit: int, offset: int) -> TaskPage:
        """Return the tasks of a selection that the principal may see, newest first."""
        if not principal.is_operator:
            if selection.owner not in (None, principal.name):
                return TaskPage(tasks=(), total=0, limit=limit, offset=offset)
            selection = replace(selection, owner=principal.name)
        total = sum(self._store.counts(selection).values())
        found = self._store.listed(selection, limit, offset)
        return TaskPage(tasks=tuple(map(listed_view, found)), total=total, limit=limit, offset=offset)

    def task(self, principal: Principal, task_id: str) -> TaskDetail:
        """Return all that is known of a task."""
        found = self._store.history(task_id, _LOG_LINES)
        if found is None or not principal.may_see(found.task.owner):
            raise _no_such_task(task_id)
        return task_detail(found.task, found.attempts, found.log, found.handovers)

    def output(
        self, principal: Principal, task_id: str, stream: str, rank: int, attempt: int, offset: int, limit: int
    ) -> Output | None:
        """Return part of what a process of a task wrote; None where nothing is kept.

        Args:
            principal: the user who asks.
            task_id: the task.
            stream: "out" or "err".
            rank: rank of the process.
            attempt: number of the attempt, from 1; 0 for the last.
            offset: first byte; negative counts from the end.
            limit: most bytes.
        """
        self._find(principal, task_id)
        return self._outputs.read(task_id, stream, rank, attempt, offset, limit)

    def explain(self, principal: Principal, task_id: str) -> ExplanationView:
        """Say why a task is where it is."""
        task = self._find(principal, task_id)

        def question(core: Coscheduler, time: float) -> ExplanationView | None:
            found = self._neighbours.explain(core, task_id, time)
            return None if found is None else explanation_view(found, core)

        return self._core.ask(question) or ended_explanation(self._find(principal, task.id))

    def cancel(self, principal: Principal, task_id: str) -> TaskView:
        """Cancel a task; one that has ended stays as it is."""
        self._find(principal, task_id)
        self._core.apply(CancelRequested(self._core.now(), task_id))
        return task_view(self._find(principal, task_id))

    def _find(self, principal: Principal, task_id: str) -> Task:
        task = self._store.task(task_id)
        if task is None or not principal.may_see(task.owner):
            raise _no_such_task(task_id)
        return task


def _no_such_task(task_id: str) -> NotFoundError:
    return NotFoundError(f"there is no task {task_id[:80]!r}: `cosched task list` shows what there is")
