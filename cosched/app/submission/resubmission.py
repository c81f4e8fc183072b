"""Tasks are submitted once more: by command line, API and pages alike."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from cosched.api.documents import TaskChange
from cosched.app.submission.task_requests import request_like_task, with_other_hosts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.access.principals import Principal
    from cosched.api.documents import TaskView
    from cosched.app.services import DomainServices

__all__ = ["resubmit"]

_UNCHANGED = TaskChange()
_OF_HOSTS = ("hosts", "runtime")  # the prediction depends on these together


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
    values = {name: value for name, value in asdict(change).items() if value is not None and name not in _OF_HOSTS}
    if values.get("deadline") == "none":
        values["deadline"] = None
    if values.get("time_limit") == "none":
        values["time_limit"] = None
    if values.get("begin") == "now":
        values["begin"] = None
    requests = [
        replace(
            with_other_hosts(request_like_task(task, now, catalogued=task.application in known), task, change), **values
        )
        for task in earlier
    ]
    return services.submissions.submit(principal, requests, *key)
