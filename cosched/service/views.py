"""From the core's and the store's values to the documents of the API."""

from __future__ import annotations

import math
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any

from cosched.coscheduler.task import TaskState
from cosched.portal.documents import AttemptView, ProfileView, RecordView, TaskDetail, TaskView
from cosched.service.peer_views import handover_views

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cosched.agent.records import Handover
    from cosched.coscheduler.task import Attempt, Task
    from cosched.prediction.profile import Profile
    from cosched.store import Record
    from cosched.store.rows import Row

__all__ = ["listed_view", "profile_view", "task_detail", "task_view"]

_TASK = tuple(item.name for item in fields(TaskView) if item.name not in ("count", "notice", "on_time", "state"))
_ATTEMPT = tuple(item.name for item in fields(AttemptView))


def task_view(task: Task) -> TaskView:
    """Return a task as lists show it."""
    return TaskView(**_summary(partial(getattr, task)))


def listed_view(row: Row) -> TaskView:
    """Return the same of a row of the table `tasks`, or of the part of it that lists show."""
    return TaskView(**_summary(row.__getitem__))


def task_detail(
    task: Task, attempts: Iterable[Attempt], log: Iterable[Record], handovers: Iterable[Handover] = ()
) -> TaskDetail:
    """Return a task with all that is known of it."""
    return TaskDetail(
        **_summary(partial(getattr, task)),
        command=task.command,
        parameters=dict(task.parameters),
        environment=dict(task.environment),
        directory=task.directory,
        prepare=task.prepare,
        notify=task.notify,
        native=task.native,
        model=task.model,
        after=task.after,
        time_limit=task.time_limit,
        profile=None if task.profile is None else profile_view(task.profile),
        tries=tuple(AttemptView(**{name: getattr(attempt, name) for name in _ATTEMPT}) for attempt in attempts),
        log=tuple(RecordView(time=line.time, kind=line.kind, task=line.task, detail=line.detail) for line in log),
        handovers=handover_views(handovers),
    )


def profile_view(profile: Profile) -> ProfileView:
    """Return a profile in words that JSON has: null for a host count that cannot be used."""
    low, high = (None if times is None else _nulled(times) for times in (profile.low, profile.high))
    return ProfileView(
        seconds=_nulled(profile.seconds), low=low, high=high, source=str(profile.source), hardware=profile.hardware
    )


def _nulled(times: Iterable[float]) -> tuple[float | None, ...]:
    return tuple(value if math.isfinite(value) else None for value in times)


def _summary(get: Callable[[str], Any]) -> dict[str, Any]:
    values = {name: get(name) for name in _TASK}
    on_time = None
    if values["deadline"] is not None and values["finished"] is not None and get("state") == TaskState.COMPLETED:
        on_time = values["finished"] <= values["deadline"]
    hosts = tuple(values["hosts"])
    return {
        **values,
        "hosts": hosts,
        "state": str(get("state")),
        "count": len(hosts) or get("count"),
        "on_time": on_time,
    }
