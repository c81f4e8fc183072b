"""Tasks for tests: fields of identity, spec and status by keyword, side by side."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from cosched.coscheduler.task import Task, TaskSpec, TaskStatus

if TYPE_CHECKING:
    from collections.abc import Mapping

_SPEC = frozenset(item.name for item in fields(TaskSpec))
_STATUS = frozenset(item.name for item in fields(TaskStatus))


def make_task(number: int = 1, **values: Any) -> Task:
    """Return a task that is called by its number, with these values of any of its fields."""
    spec = TaskSpec(**{"name": "t", "application": "a", "command": ("/x",)} | _part(values, _SPEC))
    identity: dict[str, Any] = {"id": str(number), "submitted": 0.0} | _identity(values)
    return Task(number=number, spec=spec, status=TaskStatus(**_part(values, _STATUS)), **identity)


def change_task(task: Task, **values: Any) -> Task:
    """Return the task with other values of any of its fields."""
    spec, status = replace(task.spec, **_part(values, _SPEC)), replace(task.status, **_part(values, _STATUS))
    return replace(task, spec=spec, status=status, **_identity(values))


def _part(values: Mapping[str, Any], names: frozenset[str]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name in names}


def _identity(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in _SPEC | _STATUS}
