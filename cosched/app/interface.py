"""The portal asks a domain through these two protocols.

`TaskService` and `DomainQueries` implement them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.access.principals import Principal
    from cosched.api.documents import (
        Accuracy,
        CurvesView,
        ExplanationView,
        Forecast,
        HostView,
        ModelView,
        NetworkView,
        PeerView,
        PlanPoint,
        PlanView,
        RecordView,
        ReservationRequest,
        ReservationView,
        RunView,
        SearchPoint,
        Status,
        TaskDetail,
        TaskPage,
        TaskRequest,
        TaskView,
    )
    from cosched.app.event_feed import EventFeed
    from cosched.connector.interface import Output
    from cosched.prediction.catalogue import CatalogueEntry
    from cosched.store.store import TaskSelection

__all__ = ["DomainInsight", "DomainService", "Published"]

# ── What the portal needs of the daemon behind it.


class DomainService(Protocol):
    """The daemon as the API sees it. Methods may block and are called from several threads at once.

    All raise `UserError` where the request is at fault (`NotFoundError`, `ConflictError` where that fits) and
    `SystemFault` where the daemon, the manager or the database is. The first argument is who asks: of another user's
    task nobody but an operator learns more than which hosts it takes until when; asked for, it is not there.

    Attributes:
        feed: what happens, for those who follow the event stream.
    """

    feed: EventFeed

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

    def tasks(self, asker: Principal, selection: TaskSelection, limit: int, offset: int) -> TaskPage:
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

    def explain(self, asker: Principal, task_id: str) -> ExplanationView:
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


# ── What API and pages tell beside what the service does: the catalogue, models, and what has been.


class DomainInsight(Protocol):
    """The daemon as those see it who only look, beside `Service`.

    Methods may block and are called from several threads at once.
    """

    def applications(self) -> Sequence[CatalogueEntry]:
        """Return the catalogue, by name."""
        ...

    def models(self) -> Sequence[ModelView]:
        """Return all model files of the library."""
        ...

    def source(self, kind: str, name: str) -> str:
        """Return the text of a model file; raises `NotFoundError` where there is none."""
        ...

    def curves(self, name: str, values: Mapping[str, float], hosts: int) -> CurvesView:
        """Evaluate an application model on every hardware of the library."""
        ...

    def runs(self, asker: Principal, since: float) -> Sequence[RunView]:
        """Return the attempts that ended after this time, the last ones first where there are too many."""
        ...

    def log(self, asker: Principal, limit: int, offset: int) -> Sequence[RecordView]:
        """Return lines of the log, the newest first; those about other users' tasks are for operators alone."""
        ...

    def accuracy(self) -> Sequence[Accuracy]:
        """Return how well run times were predicted, by application and hardware."""
        ...

    def planned(self, task: str) -> Sequence[PlanPoint]:
        """Return where a task was planned as its plan changed, the oldest first."""
        ...

    def search(self) -> Sequence[SearchPoint]:
        """Return how the search's plan became better, the oldest first."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What is told of a domain.

    Attributes:
        domain: its name.
        version: of cosched.
        connector: by which it drives its resource manager.
        time: now, seconds since the epoch.
        hosts: all of them.
        tasks: how many there are, of all users, by state.
        applications: name and description of each in the catalogue.
        faults: what does not work, in sentences.
    """

    domain: str
    version: str
    connector: str
    time: float
    hosts: tuple[HostView, ...]
    tasks: Mapping[str, int]
    applications: tuple[tuple[str, str], ...]
    faults: tuple[str, ...]
