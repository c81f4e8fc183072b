"""Requests that make a task like an earlier one, or as a change says."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cosched.api.documents import TaskRequest
from cosched.api.runtimes import parse_runtime
from cosched.connector import LaunchMode
from cosched.coscheduler.task import shared_values
from cosched.measurement.programs.watching import SHIM_VARIABLE
from cosched.prediction.profile import PredictionSource

if TYPE_CHECKING:
    from cosched.api.documents import TaskChange, TaskDetail

__all__ = ["request_like_task", "with_other_hosts"]


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
    observed = SHIM_VARIABLE in task.environment
    again: dict[str, Any] = {
        "application": task.application if catalogued else "",
        "command": () if catalogued and task.native is None else task.command,
        "parameters": dict(task.parameters) if catalogued or task.model or observed else {},
        "deadline": None if task.deadline is None else now + task.deadline - task.submitted,
        "hosts": _present_hosts(task) if learnt else None if source else task.count,
        "profile": (task.profile.stated or task.profile.seconds) if own and task.profile is not None else None,
        "prepare": () if catalogued else task.prepare,
        "launch": LaunchMode(task.launch),
        "begin": task.begin if task.begin is not None and task.begin > now else None,
        "array_index": None,  # of its array it is no part
        "array_at_most": 0,
        "after": (),  # it waits for nothing that the first one waited for
    }
    return TaskRequest(**(shared_values(task, TaskRequest) | again))
