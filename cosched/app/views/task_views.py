"""Documents of tasks: their requests, predictions, attempts and log."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from cosched.api.documents import (
    AlternativeView,
    AttemptView,
    ElasticRequest,
    ProfileView,
    RecordView,
    RestartsView,
    TaskDetail,
    TaskView,
)
from cosched.app.submission.chain_views import chain_view
from cosched.app.views.neighbour_views import handover_views
from cosched.coscheduler.task import TaskState
from cosched.store import tables
from cosched.store.rows import row_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cosched.access.principals import Principal
    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.elastic.values import Elastic
    from cosched.coscheduler.handovers import Handover
    from cosched.coscheduler.places.alternatives import Alternative
    from cosched.coscheduler.task import Task
    from cosched.prediction.profile import Profile
    from cosched.store import LogEntry
    from cosched.store.rows import TableRow

__all__ = ["listed_view", "profile_view", "task_detail", "task_view", "visible_task"]


_VIEW, _DETAIL = (
    tuple(item.name for item in fields(kind) if item.name in tables.tasks.columns) for kind in (TaskView, TaskDetail)
)


_ATTEMPT = tuple(item.name for item in fields(AttemptView))


def task_view(task: Task) -> TaskView:
    """Return a task as lists show it."""
    return listed_view(row_of(task))


def listed_view(row: TableRow) -> TaskView:
    """Return the view of a database row: of the table `tasks`, or of a list."""
    return TaskView(**_task_fields(_VIEW, row))


def task_detail(
    task: Task, attempts: Iterable[Attempt], log: Iterable[LogEntry], handovers: Iterable[Handover] = ()
) -> TaskDetail:
    """Return a task with all that is known of it."""
    elastic, restarts = task.spec.elastic, task.status.restarts
    shown: dict[str, Any] = {
        "profile": None if task.profile is None else profile_view(task.profile),
        "alternatives": tuple(map(_alternative_view, task.alternatives)),
        "chain": chain_view(None, task, 0.0),
        "elastic": None if elastic is None else elastic_view(elastic),
        "restarts": None
        if restarts is None
        else RestartsView(
            count=restarts.count,
            left=restarts.left,
            reason=restarts.why,
            unheeded=restarts.unheeded,
            forced=restarts.forced,
        ),
        "tries": tuple(
            AttemptView(**{name: getattr(attempt, name) for name in _ATTEMPT})
            for attempt in attempts
            if not attempt.worker
        ),
        "log": tuple(RecordView(time=line.time, kind=line.kind, task=line.task, detail=line.detail) for line in log),
        "handovers": handover_views(handovers),
    }
    return TaskDetail(**(_task_fields(_DETAIL, row_of(task)) | shown))


def elastic_view(elastic: Elastic) -> ElasticRequest:
    """Return the request of an elastic task, as a document."""
    return ElasticRequest(
        kind="restart" if elastic.restart else "workers",
        worker=elastic.worker,
        grace=elastic.grace,
        cost=elastic.cost,
        force=elastic.force,
    )


def profile_view(profile: Profile) -> ProfileView:
    """Return a profile for JSON, with null for a host count that cannot be used."""
    low, high = (None if times is None else _nulled(times) for times in (profile.low, profile.high))
    return ProfileView(
        seconds=_nulled(profile.seconds),
        low=low,
        high=high,
        source=str(profile.source),
        hardware=profile.hardware,
        runs=profile.runs,
        stated=_nulled(profile.stated) if profile.stated else None,
        explores=profile.explores,
        changed=profile.changed,
        classes=tuple(map(profile_view, profile.classes)),
    )


def _alternative_view(alternative: Alternative) -> AlternativeView:
    return AlternativeView(
        cores=alternative.cores,
        memory=alternative.memory,
        gpus=alternative.gpus,
        processes_per_host=alternative.processes_per_host,
        profile=profile_view(alternative.profile),
    )


def _nulled(times: Iterable[float]) -> tuple[float | None, ...]:
    return tuple(value if math.isfinite(value) else None for value in times)


def _task_fields(names: Iterable[str], row: TableRow) -> dict[str, Any]:
    values = {name: row[name] for name in names}
    on_time = None
    if values["deadline"] is not None and values["finished"] is not None and values["state"] == TaskState.COMPLETED:
        on_time = values["finished"] <= values["deadline"]
    return {
        **values,
        "state": str(values["state"]),
        "count": len(values["hosts"]) or values["count"],
        "on_time": on_time,
    }


def visible_task(principal: Principal, core: Coscheduler, task: str) -> tuple[str, Task | None]:
    """Return a task's identifier and the task, or neither of another user's task."""
    known = core.tasks.get(task)
    if known is None:
        return (task if principal.is_operator else "", None)
    return (task, known) if principal.may_see(known.owner) else ("", None)
