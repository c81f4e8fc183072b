"""Between dataclasses and rows. Exact both ways: what was saved is what is loaded, to the last bit of a time."""

from __future__ import annotations

import math
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any, Protocol

from cosched.connector.native import Native
from cosched.coscheduler.task import Attempt, AttemptState, Task, TaskState
from cosched.prediction.profile import Profile, Source

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Row", "attempt_of", "attempt_row", "task_of", "task_row"]

_TASK = tuple(item.name for item in fields(Task))
_ATTEMPT = tuple(item.name for item in fields(Attempt))


class Row(Protocol):
    """What a query gives: values by names of columns."""

    def __getitem__(self, name: str, /) -> Any:
        """Return a column's value."""
        ...


def task_row(task: Task) -> dict[str, Any]:
    """Return the task as a row of the table `tasks`."""
    row = {name: getattr(task, name) for name in _TASK}
    row["command"] = list(task.command)
    row["parameters"] = dict(task.parameters)
    row["environment"] = dict(task.environment)
    row["hosts"] = list(task.hosts)
    row["state"] = str(task.state)
    row["prepare"] = list(task.prepare)
    row["notify"] = list(task.notify)
    row["after"] = list(task.after)
    row["native"] = None if task.native is None else asdict(task.native)
    row["profile"] = None if task.profile is None else _profile_document(task.profile)
    return row


def task_of(row: Row) -> Task:
    """Return the task that a row of the table `tasks` holds."""
    values = {name: row[name] for name in _TASK}
    values["command"] = tuple(values["command"])
    values["hosts"] = tuple(values["hosts"])
    values["state"] = TaskState(values["state"])
    values["prepare"] = tuple(values["prepare"])
    values["notify"] = tuple(values["notify"])
    values["after"] = tuple(values["after"])
    values["native"] = None if values["native"] is None else Native(**values["native"])
    values["profile"] = None if values["profile"] is None else _profile(values["profile"])
    return Task(**values)


def attempt_row(attempt: Attempt) -> dict[str, Any]:
    """Return the attempt as a row of the table `attempts`."""
    row = {name: getattr(attempt, name) for name in _ATTEMPT}
    row["hosts"] = list(attempt.hosts)
    row["state"] = str(attempt.state)
    return row


def attempt_of(row: Row, prefix: str = "") -> Attempt:
    """Return the attempt that a row of the table `attempts` holds, in columns whose names begin so."""
    values = {name: row[prefix + name] for name in _ATTEMPT}
    values["hosts"] = tuple(values["hosts"])
    values["state"] = AttemptState(values["state"])
    return Attempt(**values)


def _profile_document(profile: Profile) -> dict[str, Any]:
    document: dict[str, Any] = {
        "seconds": _nulled(profile.seconds),
        "source": str(profile.source),
        "hardware": profile.hardware,
    }
    if profile.low is not None and profile.high is not None:
        document |= {"low": _nulled(profile.low), "high": _nulled(profile.high)}
    if profile.classes:
        document["classes"] = [_profile_document(each) for each in profile.classes]
    return document


def _profile(document: Mapping[str, Any]) -> Profile:
    seconds = _infinite(document["seconds"])
    low, high = (_infinite(document[end]) if end in document else None for end in ("low", "high"))
    classes = tuple(_profile(each) for each in document.get("classes", ()))
    return Profile(seconds, Source(document["source"]), document["hardware"], low, high, classes)


def _nulled(times: Sequence[float]) -> list[float | None]:
    # JSON has no infinity: a host count that cannot be used is null.
    return [value if math.isfinite(value) else None for value in times]


def _infinite(times: Sequence[float | None]) -> tuple[float, ...]:
    return tuple(math.inf if value is None else value for value in times)
