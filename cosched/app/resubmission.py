"""Tasks are submitted once more: by command line, API and pages alike."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from cosched.api.documents import TaskChange, TaskRequest
from cosched.connector import LaunchMode
from cosched.coscheduler.task import shared_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.access.principals import Principal
    from cosched.api.documents import TaskDetail, TaskView
    from cosched.app.services import DomainServices

__all__ = ["request_like_task", "resubmit"]

_UNCHANGED = TaskChange()


def resubmit(
    services: DomainServices,
    principal: Principal,
    tasks: Sequence[str],
    change: TaskChange = _UNCHANGED,
    key: tuple[str, str] = ("", ""),
) -> Sequence[TaskView]:
    """Submit tasks once more, each with as much time as it had; all or none.

    Args:
        services: services of the domain.
        principal: the user who asks; the new tasks are theirs.
        tasks: identifiers of the earlier ones.
        change: what is to be other than it was.
        key: idempotency key with the request's digest, as for a submission.

    Raises:
        NotFoundError: a task is not there for this user.
        UserError: it is not accepted any more, or not with the changes.
    """
    known = {entry.name for entry in services.models.applications()}
    earlier = [services.tasks.task(principal, task) for task in tasks]
    now = time.time()
    values = {name: value for name, value in asdict(change).items() if value is not None}
    if values.get("deadline") == "none":
        values["deadline"] = None
    if values.get("begin") == "now":
        values["begin"] = None
    requests = [
        replace(request_like_task(task, now, catalogued=task.application in known), **values) for task in earlier
    ]
    return services.submissions.submit(principal, requests, *key)


def request_like_task(task: TaskDetail, now: float, *, catalogued: bool) -> TaskRequest:
    """Return the request that makes a task like this one, with as much time."""
    own = task.profile is not None and (task.profile.source == "user" or not (catalogued or task.model))
    again: dict[str, Any] = {
        "application": task.application if catalogued else "",
        "command": () if catalogued and task.native is None else task.command,
        "parameters": dict(task.parameters) if catalogued or task.model else {},
        "deadline": None if task.deadline is None else now + task.deadline - task.submitted,
        "hosts": task.count if task.profile is None else None,
        "profile": task.profile.seconds if own and task.profile is not None else None,
        "prepare": () if catalogued else task.prepare,
        "launch": LaunchMode(task.launch),
        "begin": None,
        "after": (),  # it waits for nothing that the first one waited for
    }
    return TaskRequest(**(shared_values(task, TaskRequest) | again))
