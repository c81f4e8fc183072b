"""Names of tasks and hosts, as explanations give them to the owner of a task."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.task import Task


__all__ = ["first_names", "first_tasks", "task_text"]

_NAMED = 5


def first_tasks(core: Coscheduler, tasks: list[str], asked: Task) -> str:
    """Name several tasks, each once, as `task_text` does for the owner of the one that is asked about."""
    return first_names([task_text(core, name, asked) for name in dict.fromkeys(tasks)])


def task_text(core: Coscheduler, name: str, asked: Task) -> str:
    """Return a task's number and state, and its name where both are of one user."""
    task = core.tasks[name]
    called = f"{task.spec.name}, " if task.owner == asked.owner and task.spec.name else ""
    return f"{name} ({called}{task.status.state})"


def first_names(names: Sequence[str]) -> str:
    """Return the first names of a list, and how many more there are."""
    named = ", ".join(names[:_NAMED])
    return named if len(names) <= _NAMED else f"{named} and {len(names) - _NAMED} more"
