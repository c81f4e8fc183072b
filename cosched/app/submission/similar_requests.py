"""Requests that make a task like an earlier one, or as a change says."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cosched.api.documents import ShapeFigure, TaskRequest
from cosched.api.runtimes import parse_runtime, parse_shape_runtimes
from cosched.connector import LaunchMode
from cosched.measurement.programs.watching import SHIM_VARIABLE
from cosched.prediction.profile import PredictionSource
from cosched.shared_values import shared_values

if TYPE_CHECKING:
    from cosched.api.documents import TaskChange, TaskDetail

__all__ = ["request_like_task", "with_other_hosts"]


def with_other_hosts(request: TaskRequest, task: TaskDetail, change: TaskChange) -> TaskRequest:
    """Return a task's request with the hosts, the run time, the shapes and the needs of a change.

    Where each process had needs of its own, a host's take their place.

    Raises:
        UserError: the run time cannot be read.
    """
    if change.hosts is not None:
        request = replace(request, hosts=change.hosts)
    if change.cores is not None:
        request = replace(request, cores=change.cores, cores_per_process=0, processes=0)
    if change.processes is not None:
        request = replace(request, processes=change.processes, cores=change.cores or 0, processes_per_host=1)
    if change.memory is not None:
        request = replace(request, memory=change.memory, memory_per_process=0)
    if change.gpus is not None:
        request = replace(request, gpus=change.gpus, gpus_per_process=0)
    if change.runtime is None:
        return request
    if shapes := parse_shape_runtimes(change.runtime, option=""):
        request = replace(request, hosts=change.hosts, cores=change.cores or 0)
        return replace(request, profile=None, shapes=shapes, model="", parameters=_own_parameters(request))
    request = replace(request, shapes=())
    hosts = _present_hosts(task) if change.hosts is None else str(change.hosts)
    profile = parse_runtime(change.runtime, hosts, option="")
    request = replace(request, hosts=change.hosts, profile=profile)
    return replace(request, model="", parameters=_own_parameters(request))  # the figures replace a model


def _own_parameters(request: TaskRequest) -> dict[str, float | str]:
    return request.parameters if request.application else {}


def _present_hosts(task: TaskDetail) -> str:
    if task.profile is None:
        return str(task.count)
    counts = [count for count, seconds in enumerate(task.profile.seconds, 1) if seconds is not None]
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]}-{counts[-1]}"


def _wanted_hosts(task: TaskDetail, source: str) -> int | str | None:
    """Return the hosts that a predicted task was to have; None where its model may choose among several numbers."""
    if task.hosts_range:
        return int(task.hosts_range) if task.hosts_range.isdecimal() else task.hosts_range
    if not source:
        return task.count
    present = _present_hosts(task)
    if source == PredictionSource.HISTORY:  # it is learnt anew, from what has run since
        return present
    tries = task.profile is not None and task.profile.explores  # cosched chose its number of hosts, to learn
    return int(present) if present.isdecimal() and not tries else None


def _figures(task: TaskDetail) -> tuple[ShapeFigure, ...]:
    """Return a user's own figures for several shapes; those of shapes that no plan needs are not kept."""
    shapes = [(each.cores, each.processes_per_host, each.profile) for each in task.alternatives]
    if not shapes and task.profile is not None:
        shapes = [(task.cores, task.processes_per_host, task.profile)]
    return tuple(
        [
            ShapeFigure(hosts=count, cores=processes if task.processes else cores, seconds=seconds)
            for cores, processes, profile in shapes
            for count, seconds in enumerate(profile.stated or profile.seconds, 1)
            if seconds is not None
        ]
    )


def _per_process(task: TaskDetail) -> dict[str, int]:
    """Return the needs of each process, where cosched chooses the number of processes on a host."""
    processes, several = task.processes_per_host, len({each.memory for each in task.alternatives}) != 1
    found = {"cores_per_process": task.cores // processes}
    if several and task.memory:  # else each host is to have so much, however many processes it has
        found |= {"memory": 0, "memory_per_process": task.memory // processes}
    if len({each.gpus for each in task.alternatives}) != 1 and task.gpus:
        found |= {"gpus": 0, "gpus_per_process": task.gpus // processes}
    return found


def request_like_task(task: TaskDetail, now: float, *, catalogued: bool) -> TaskRequest:
    """Return the request that makes a task like this one, with as much time."""
    source = "" if task.profile is None else task.profile.source
    own = source == PredictionSource.USER or (
        source and source != PredictionSource.HISTORY and not (catalogued or task.model)
    )
    observed, ranged = SHIM_VARIABLE in task.environment, bool(task.cores_range or task.processes)
    again: dict[str, Any] = {
        "application": task.application if catalogued else "",
        "command": () if catalogued and task.native is None else task.command,
        "parameters": dict(task.parameters) if catalogued or task.model or observed else {},
        "deadline": None if task.deadline is None else now + task.deadline - task.submitted,
        "hosts": None if own else _wanted_hosts(task, source),
        "profile": (task.profile.stated or task.profile.seconds) if own and not ranged and task.profile else None,
        "shapes": _figures(task) if own and ranged else (),
        "cores": 0 if task.processes else task.cores_range or task.cores,
        "processes": task.processes or 0,
        "processes_per_host": 1 if task.processes else task.processes_per_host,
        **(_per_process(task) if task.processes else {}),
        "prepare": () if catalogued else task.prepare,
        "launch": LaunchMode(task.launch),
        "begin": task.begin if task.begin is not None and task.begin > now else None,
        "array_index": None,  # of its array it is no part
        "array_at_most": 0,
        "after": (),  # it waits for nothing that the first one waited for
    }
    if task.chain is not None:  # the whole application, with as much time for it
        control = {name for way in task.chain.ways for name in way.control}
        again |= {
            "name": task.chain.name,
            "deadline": None if task.chain.deadline is None else now + task.chain.deadline - task.submitted,
            "parameters": {name: value for name, value in task.parameters.items() if name not in control},
            "environment": {name: value for name, value in task.environment.items() if not name.startswith("COSCHED_")},
            "hosts": None,
            "profile": None,
            "least_quality": task.chain.least_quality,
        }
    return TaskRequest(**(shared_values(task, TaskRequest) | again))
