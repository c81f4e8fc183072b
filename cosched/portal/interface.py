"""What the portal needs of the daemon behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.access.principal import Principal
    from cosched.connector.interface import Output
    from cosched.portal.documents import (
        Explanation,
        Forecast,
        HostView,
        NetworkView,
        PeerView,
        PlanView,
        ReservationRequest,
        ReservationView,
        Status,
        TaskDetail,
        TaskPage,
        TaskRequest,
        TaskView,
    )
    from cosched.portal.feed import Feed
    from cosched.portal.glue import Published
    from cosched.store.selection import Selection

__all__ = ["Service"]


class Service(Protocol):
    """The daemon as the API sees it. Methods may block and are called from several threads at once.

    All raise `UserError` where the request is at fault (`NotFoundError`, `ConflictError` where that fits) and
    `SystemFault` where the daemon, the manager or the database is. The first argument is who asks: of another user's
    task nobody but an operator learns more than which hosts it takes until when; asked for, it is not there.

    Attributes:
        feed: what happens, for those who follow the event stream.
    """

    feed: Feed

    def submit(self, asker: Principal, requests: Sequence[TaskRequest], key: str, digest: str) -> Sequence[TaskView]:
        """Accept all tasks or none; on return they survive a crash.

        Args:
            asker: who owns them.
            requests: the tasks.
            key: idempotency key of this owner, empty for none: the same key and digest again return the same tasks.
            digest: of the requests' content.
        """
        ...

    def foresee(self, asker: Principal, requests: Sequence[TaskRequest]) -> Sequence[Forecast]:
        """Say what submitting these tasks would lead to, each for itself; store nothing."""
        ...

    def tasks(self, asker: Principal, selection: Selection, limit: int, offset: int) -> TaskPage:
        """Return the tasks of a selection that the asker may see, newest first."""
        ...

    def task(self, asker: Principal, task_id: str) -> TaskDetail:
        """Return all that is known of a task."""
        ...

    def output(
        self, asker: Principal, task_id: str, stream: str, rank: int, attempt: int, offset: int, limit: int
    ) -> Output | None:
        """Return part of what a process of a task wrote; None where nothing is kept.

        Args:
            asker: who wants to know.
            task_id: the task.
            stream: "out" or "err".
            rank: of the process.
            attempt: which try, from 1; 0 for the last.
            offset: first byte; negative counts from the end.
            limit: most bytes.
        """
        ...

    def explain(self, asker: Principal, task_id: str) -> Explanation:
        """Say why a task is where it is."""
        ...

    def cancel(self, asker: Principal, task_id: str) -> TaskView:
        """Take the wish that a task does not run (any more); a task that has ended stays as it is."""
        ...

    def hosts(self, asker: Principal) -> Sequence[HostView]:
        """Return all hosts of the domain."""
        ...

    def reserve(self, asker: Principal, request: ReservationRequest) -> ReservationView:
        """Keep hosts for others; for administrators."""
        ...

    def reservations(self, asker: Principal) -> Sequence[ReservationView]:
        """Return the reservations that are not over, the first to begin first."""
        ...

    def release(self, asker: Principal, identifier: str) -> ReservationView:
        """Give a reservation up, and return what it was; for administrators."""
        ...

    def peers(self) -> Sequence[PeerView]:
        """Return the neighbouring domains; none where there is no agent."""
        ...

    def network(self) -> NetworkView | None:
        """Return what our agent has done and how it is advised; None where there is no agent."""
        ...

    def published(self, asker: Principal) -> Published:
        """Return what is told of the domain to information services: counts, and nothing of any one task."""
        ...

    def plan(self, asker: Principal) -> PlanView:
        """Return the schedule in force."""
        ...

    def status(self, asker: Principal) -> Status:
        """Return the daemon's state in short."""
        ...
