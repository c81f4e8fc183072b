"""Tasks are submitted once more: by command line, API and pages alike."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from cosched.api.documents import TaskChange, TaskRequest
from cosched.api.runtimes import parse_runtime
from cosched.connector import LaunchMode
from cosched.coscheduler.task import shared_values
from cosched.prediction.profile import PredictionSource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.access.principals import Principal
    from cosched.api.documents import TaskDetail, TaskView
    from cosched.app.services import DomainServices

__all__ = ["request_like_task", "resubmit", "with_other_hosts"]

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
    if values.get("begin") == "now":
        values["begin"] = None
    requests = [
        replace(
            with_other_hosts(request_like_task(task, now, catalogued=task.application in known), task, change), **values
        )
        for task in earlier
    ]
    return services.submissions.submit(principal, requests, *key)


def with_other_hosts(request: TaskRequest, task: TaskDetail, change: TaskChange) -> TaskRequest:
    """Return a task's request with the hosts and the run time of a change.

    Raises:
        UserError: the run time cannot be read.
    """
    if change.hosts is not None:
        request = replace(request, hosts=change.hosts)
    if change.runtime is None:
        return request
    hosts = _present_hosts(task) if change.hosts is None else str(change.hosts)
    profile = parse_runtime(change.runtime, hosts, option="")
    request = replace(request, hosts=change.hosts, profile=profile)
    return request if request.application else replace(request, model="", parameters={})  # the figures replace a model


def _present_hosts(task: TaskDetail) -> str:
    if task.profile is None:
        return str(task.count)
    counts = [count for count, seconds in enumerate(task.profile.seconds, 1) if seconds is not None]
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]}-{counts[-1]}"


def request_like_task(task: TaskDetail, now: float, *, catalogued: bool) -> TaskRequest:
    """Return the request that makes a task like this one, with as much time."""
    source = "" if task.profile is None else task.profile.source
    learnt = source == PredictionSource.HISTORY  # it is learnt anew, from what has run since
    own = source == PredictionSource.USER or (source and not learnt and not (catalogued or task.model))
    again: dict[str, Any] = {
        "application": task.application if catalogued else "",
        "command": () if catalogued and task.native is None else task.command,
        "parameters": dict(task.parameters) if catalogued or task.model else {},
        "deadline": None if task.deadline is None else now + task.deadline - task.submitted,
        "hosts": _present_hosts(task) if learnt else None if source else task.count,
        "profile": task.profile.seconds if own and task.profile is not None else None,
        "prepare": () if catalogued else task.prepare,
        "launch": LaunchMode(task.launch),
        "begin": None,
        "array_index": None,  # of its array it is no part
        "after": (),  # it waits for nothing that the first one waited for
    }
    return TaskRequest(**(shared_values(task, TaskRequest) | again))
