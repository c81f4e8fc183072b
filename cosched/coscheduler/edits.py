"""Edits change tasks that wait; `why_unchangeable` is the one rule which tasks may be changed.

The core ignores what breaks the rule, and services ask it on the core's thread, so that a change that comes too late is
refused as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cosched.coscheduler.task import TaskState

if TYPE_CHECKING:
    from cosched.coscheduler.task import Task
    from cosched.prediction.profile import Profile

__all__ = ["HostChoice", "TaskEdit", "edited", "why_unchangeable"]


@dataclass(frozen=True, slots=True)
class HostChoice:
    """Host counts and run times of an edit; fields as in `Task` and `TaskSpec`."""

    count: int
    profile: Profile | None
    correction: str
    model: str


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
    """

    name: str | None = None
    deadline: float | None = None
    without_deadline: bool = False
    begin: float | None = None
    best_effort: bool | None = None
    hosts: HostChoice | None = None
    priority: int | None = None

    @property
    def moves_deadline(self) -> bool:
        """Return whether the task's place in the plan depends on this edit."""
        return self.without_deadline or self.deadline is not None

    @property
    def endangers_deadline(self) -> bool:
        """Return whether the deadline may be one that cannot be met any more."""
        changed = self.begin or self.hosts is not None or self.best_effort is False
        return self.moves_deadline or bool(changed)

    def __str__(self) -> str:
        """Name what is changed."""
        named = {
            "deadline": self.moves_deadline,
            "begin": self.begin is not None,
            "hosts and run time": self.hosts is not None,
            "name": self.name is not None,
            "priority": self.priority is not None,
            "best effort": self.best_effort is not None,
        }
        return ", ".join(name for name, changes in named.items() if changes)


def edited(task: Task, edit: TaskEdit) -> Task:
    """Return a task with an edit applied."""
    spec = task.spec
    deadline = spec.deadline if edit.deadline is None else edit.deadline
    spec = replace(
        spec,
        name=spec.name if edit.name is None else edit.name,
        deadline=None if edit.without_deadline else deadline,
        begin=spec.begin if edit.begin is None else edit.begin or None,
        best_effort=spec.best_effort if edit.best_effort is None else edit.best_effort,
        priority=spec.priority if edit.priority is None else edit.priority,
    )
    chosen = edit.hosts
    if chosen is None:
        return replace(task, spec=spec)
    spec = replace(spec, count=chosen.count, model=chosen.model)
    return replace(task, spec=spec, profile=chosen.profile, correction=chosen.correction)


def why_unchangeable(task: Task) -> str:
    """Say why a live task cannot be changed; return "" where it can."""
    status = task.status
    if task.origin:
        return f"task {task.id} comes from domain {task.origin}: change it there"
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
