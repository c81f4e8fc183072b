"""Rows convert between dataclasses and the tables, exactly both ways.

What was saved is what is loaded, to the last bit of a time. Start at `task_row` and `task_of`.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy import bindparam, select
from sqlalchemy.dialects import postgresql, sqlite

from cosched.agents.protocol.xml_documents import read_task_document, write_task_document
from cosched.connector.values import NativeDescription
from cosched.coscheduler.handovers import Guest, GuestState, Handover, HandoverState
from cosched.coscheduler.task import Attempt, AttemptState, Task, TaskState
from cosched.prediction.profile import PredictionSource, Profile
from cosched.store import tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import Executable, RowMapping


__all__ = [
    "HANDOVERS",
    "HANDOVERS_OF",
    "Notice",
    "TableRow",
    "attempt_of",
    "attempt_row",
    "end_notices",
    "guest_of",
    "guest_row",
    "handover_of",
    "handover_row",
    "insert_notices",
    "task_of",
    "task_row",
]

_TASK_FIELDS = tuple(item.name for item in fields(Task))
_ATTEMPT_FIELDS = tuple(item.name for item in fields(Attempt))


class TableRow(Protocol):
    """What a query gives: values by names of columns."""

    def __getitem__(self, name: str, /) -> Any:
        """Return a column's value."""
        ...


def task_row(task: Task) -> dict[str, Any]:
    """Return the task as a row of the table `tasks`."""
    row = {name: getattr(task, name) for name in _TASK_FIELDS}
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


def task_of(row: TableRow) -> Task:
    """Return the task that a row of the table `tasks` holds."""
    values = {name: row[name] for name in _TASK_FIELDS}
    values["command"] = tuple(values["command"])
    values["hosts"] = tuple(values["hosts"])
    values["state"] = TaskState(values["state"])
    values["prepare"] = tuple(values["prepare"])
    values["notify"] = tuple(values["notify"])
    values["after"] = tuple(values["after"])
    values["native"] = None if values["native"] is None else NativeDescription(**values["native"])
    values["profile"] = None if values["profile"] is None else _profile(values["profile"])
    return Task(**values)


def attempt_row(attempt: Attempt) -> dict[str, Any]:
    """Return the attempt as a row of the table `attempts`."""
    row = {name: getattr(attempt, name) for name in _ATTEMPT_FIELDS}
    row["hosts"] = list(attempt.hosts)
    row["state"] = str(attempt.state)
    return row


def attempt_of(row: TableRow, prefix: str = "") -> Attempt:
    """Return the attempt that a row of the table `attempts` holds, in columns whose names begin so."""
    values = {name: row[prefix + name] for name in _ATTEMPT_FIELDS}
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
    return Profile(seconds, PredictionSource(document["source"]), document["hardware"], low, high, classes)


def _nulled(times: Sequence[float]) -> list[float | None]:
    # JSON has no infinity: a host count that cannot be used is null.
    return [value if math.isfinite(value) else None for value in times]


def _infinite(times: Sequence[float | None]) -> tuple[float, ...]:
    return tuple(math.inf if value is None else value for value in times)


_HANDOVER_FIELDS = tuple(item.name for item in fields(Handover))


_GUEST_FIELDS = tuple(item.name for item in fields(Guest))


def handover_row(handover: Handover) -> dict[str, Any]:
    """Return a hand-over as a row of the table `handovers`."""
    return {name: getattr(handover, name) for name in _HANDOVER_FIELDS} | {"state": str(handover.state)}


def guest_row(guest: Guest) -> dict[str, Any]:
    """Return a guest as a row of the table `guests`."""
    row = {name: getattr(guest, name) for name in _GUEST_FIELDS}
    return row | {
        "state": str(guest.state),
        "visited": list(guest.visited),
        "document": write_task_document(guest.document),
    }


def handover_of(row: TableRow) -> Handover:
    """Return the hand-over that a row of the table `handovers` holds."""
    return Handover(**{name: row[name] for name in _HANDOVER_FIELDS} | {"state": HandoverState(row["state"])})


def guest_of(row: RowMapping) -> Guest:
    """Return the guest that a row of the table `guests` holds."""
    values = {name: row[name] for name in _GUEST_FIELDS}
    values |= {"state": GuestState(row["state"]), "visited": tuple(row["visited"])}
    return Guest(**values | {"document": read_task_document(row["document"])})


# Put together once: asked whenever somebody looks at a task.
HANDOVERS = select(tables.handovers).order_by(tables.handovers.c.created, tables.handovers.c.epoch)
HANDOVERS_OF = HANDOVERS.where(tables.handovers.c.task == bindparam("task"))


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to be told.

    Attributes:
        task: identifier of the task that it is about.
        kind: "completed", "failed", "cancelled" or "late".
        target: mailto:… or https://….
        created: when it became true, seconds since the epoch.
        due: when it is to be tried (again); None once it was sent or given up.
        tries: how often it was tried in vain.
        fault: why it could not be sent the last time.
    """

    task: str
    kind: str
    target: str
    created: float
    due: float | None
    tries: int = 0
    fault: str = ""


def end_notices(tasks: Iterable[Task]) -> list[Notice]:
    """Return what is to be told of tasks that have ended."""
    return [
        Notice(task.id, str(task.state), target, task.finished or task.submitted, task.finished or task.submitted)
        for task in tasks
        if task.state.final
        for target in task.notify
    ]


def insert_notices(dialect: str) -> Executable:
    """Return the statement that puts notices in; those that are there already stay as they are."""
    words: Any = postgresql if dialect == "postgresql" else sqlite
    return words.insert(tables.outbox).on_conflict_do_nothing()  # type: ignore[no-any-return]  # Any above
