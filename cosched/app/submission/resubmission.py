"""Tasks are submitted once more: by command line, API and pages alike."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from cosched.api.documents import TaskChange
from cosched.app.submission.similar_requests import request_like_task, with_other_hosts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.access.principals import Principal
    from cosched.api.documents import TaskRequest
    from cosched.app.services import DomainServices

__all__ = ["requests_again"]

_UNCHANGED = TaskChange()
_OF_HOSTS = ("hosts", "runtime")  # the prediction depends on these together


def requests_again(
    services: DomainServices, principal: Principal, tasks: Sequence[str], change: TaskChange = _UNCHANGED
) -> list[TaskRequest]:
    """Return the requests that submit tasks once more, each with as much time as it had.

    Args:
        services: services of the domain.
        principal: the user who asks; the new tasks will be theirs.
        tasks: identifiers of the earlier ones.
        change: what is to be other than it was.

    Raises:
        NotFoundError: a task is not there for this user.
        UserError: the run time of the change cannot be read.
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
    return [
        replace(
            with_other_hosts(request_like_task(task, now, catalogued=task.application in known), task, change), **values
        )
        for task in earlier
    ]
