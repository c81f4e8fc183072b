"""What the portal needs of the daemon behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.coscheduler.task import TaskState
    from cosched.portal.documents import (
        Explanation,
        Forecast,
        HostView,
        PlanView,
        Status,
        TaskDetail,
        TaskPage,
        TaskRequest,
        TaskView,
    )

__all__ = ["Service"]


class Service(Protocol):
    """The daemon as the API sees it. Methods may block and are called from several threads at once.

    All raise `UserError` where the request is at fault (`NotFoundError`, `ConflictError` where that fits) and
    `SystemFault` where the daemon, the manager or the database is.
    """

    def submit(self, requests: Sequence[TaskRequest], key: str, digest: str) -> Sequence[TaskView]:
        """Accept all tasks or none; on return they survive a crash.

        Args:
            requests: the tasks.
            key: idempotency key, empty for none: the same key and digest again return the same tasks.
            digest: of the requests' content.
        """
        ...

    def foresee(self, requests: Sequence[TaskRequest]) -> Sequence[Forecast]:
        """Say what submitting these tasks would lead to, each for itself; store nothing."""
        ...

    def tasks(self, states: Sequence[TaskState], limit: int, offset: int) -> TaskPage:
        """Return tasks in these states (none given: in any), newest first."""
        ...

    def task(self, task_id: str) -> TaskDetail:
        """Return all that is known of a task."""
        ...

    def explain(self, task_id: str) -> Explanation:
        """Say why a task is where it is."""
        ...

    def cancel(self, task_id: str) -> TaskView:
        """Take the wish that a task does not run (any more); a task that has ended stays as it is."""
        ...

    def hosts(self) -> Sequence[HostView]:
        """Return all hosts of the domain."""
        ...

    def plan(self) -> PlanView:
        """Return the schedule in force."""
        ...

    def status(self) -> Status:
        """Return the daemon's state in short."""
        ...
