"""Edits change tasks that wait; `why_unchangeable` is the one rule which tasks may be changed.

The core ignores what breaks the rule, and services ask it on the core's thread, so that a change that comes too late is
refused as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cosched.coscheduler.task import TaskSpec, TaskState
from cosched.shared_values import shared_values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cosched.coscheduler.places.alternatives import Alternative
    from cosched.coscheduler.task import Task
    from cosched.prediction.profile import Profile

__all__ = ["HostChoice", "ShapeChoice", "TaskEdit", "edited", "why_unchangeable"]


@dataclass(frozen=True, slots=True)
class ShapeChoice:
    """Needs of a task on each host after an edit, and its alternatives; fields as in `Task` and `TaskSpec`."""

    memory: int
    cores: int
    gpus: int
    processes_per_host: int
    cores_range: str
    processes: str
    alternatives: tuple[Alternative, ...]


@dataclass(frozen=True, slots=True)
class HostChoice:
    """Host counts and run times of an edit; fields as in `Task` and `TaskSpec`.

    Attributes:
        takes: what it takes of each host in its only or its smallest shape; None leaves that as it is.
    """

    count: int
    profile: Profile | None
    correction: str
    model: str
    hosts_range: str = ""
    takes: ShapeChoice | None = None


@dataclass(frozen=True, slots=True)
class TaskEdit:
    """New values of a task's request; None leaves a value as it is.

    Attributes:
        deadline: epoch seconds.
        without_deadline: whether it loses its deadline; `deadline` is None then.
        begin: epoch seconds before which it may not start; 0: at once.
        best_effort: whether it is welcome although its deadline may not be met.
        hosts: its new hosts and run times.
        priority: among its owner's tasks.
        memory: MiB on each host; 0: as the connector's settings say, as for cores and GPUs.
        cores: on each host.
        gpus: on each host.
        exclusive: whether it has its hosts for itself where tasks share hosts.
        licences: how many it holds of each; none where it is empty.
        retries: where its program fails.
        requeue: whether it is run again where a host is lost.
        time_limit: seconds; 0: none.
        array_at_most: tasks of its array at once; 0: all.
    """

    name: str | None = None
    deadline: float | None = None
    without_deadline: bool = False
    begin: float | None = None
    best_effort: bool | None = None
    hosts: HostChoice | None = None
    priority: int | None = None
    memory: int | None = None
    cores: int | None = None
    gpus: int | None = None
    exclusive: bool | None = None
    licences: Mapping[str, int] | None = None
    retries: int | None = None
    requeue: bool | None = None
    time_limit: float | None = None
    array_at_most: int | None = None

    @property
    def moves_deadline(self) -> bool:
        """Return whether the task's place in the plan depends on this edit."""
        return self.without_deadline or self.deadline is not None

    @property
    def needs(self) -> bool:
        """Return whether the edit changes what the task needs on each host."""
        return any(value is not None for value in (self.memory, self.cores, self.gpus, self.exclusive))

    @property
    def endangers_deadline(self) -> bool:
        """Return whether the deadline may be one that cannot be met any more."""
        changed = self.begin or self.hosts is not None or self.best_effort is False
        return self.moves_deadline or bool(changed)

    def __str__(self) -> str:
        """Name the changed values, for people."""
        named = {
            "deadline": self.moves_deadline,
            "begin": self.begin is not None,
            "hosts and run time": self.hosts is not None,
            "cores to choose among": self.hosts is not None and self.hosts.takes is not None,
            "name": self.name is not None,
            "priority": self.priority is not None,
            "best effort": self.best_effort is not None,
            "memory": self.memory is not None,
            "cores": self.cores is not None,
            "GPUs": self.gpus is not None,
            "hosts for itself": self.exclusive is not None,
            "licences": self.licences is not None,
            "retries": self.retries is not None,
            "requeue": self.requeue is not None,
            "time limit": self.time_limit is not None,
            "tasks at once": self.array_at_most is not None,
        }
        return ", ".join(name for name, changes in named.items() if changes)


_PLAIN = (
    "name",
    "best_effort",
    "priority",
    "memory",
    "cores",
    "gpus",
    "exclusive",
    "licences",
    "retries",
    "requeue",
    "array_at_most",
)


def edited(task: Task, edit: TaskEdit) -> Task:
    """Return a task with an edit applied."""
    spec = task.spec
    deadline = spec.deadline if edit.deadline is None else edit.deadline
    spec = replace(
        spec,
        deadline=None if edit.without_deadline else deadline,
        begin=spec.begin if edit.begin is None else edit.begin or None,
        time_limit=spec.time_limit if edit.time_limit is None else edit.time_limit or None,
        **{name: value for name in _PLAIN if (value := getattr(edit, name)) is not None},
    )
    chosen = edit.hosts
    if chosen is None:
        return replace(task, spec=spec)
    spec, alternatives = replace(spec, **shared_values(chosen, TaskSpec)), task.alternatives
    if (takes := chosen.takes) is not None:
        spec, alternatives = replace(spec, **shared_values(takes, TaskSpec)), takes.alternatives
    return replace(task, spec=spec, profile=chosen.profile, correction=chosen.correction, alternatives=alternatives)


def why_unchangeable(task: Task) -> str:
    """Say why a live task cannot be changed; return "" where it can."""
    status = task.status
    if task.origin:
        return f"task {task.id} comes from domain {task.origin}: change it there"
    if task.stage is not None:
        return (
            f"task {task.id} is a stage of {task.stage.title}, whose times were planned together: cancel it, which "
            "cancels all stages, and submit the application again"
        )
    if status.state is TaskState.CANCELLING:
        return f"task {task.id} is being cancelled: submit it again with other values"
    if status.peer:
        return f"task {task.id} is with domain {status.peer} and cannot be changed there: cancel it and submit it again"
    if status.state is not TaskState.QUEUED:
        return (
            f"task {task.id} has left the queue ({status.state}), only waiting tasks can be changed: "
            "cancel it and submit it again"
        )
    return ""
