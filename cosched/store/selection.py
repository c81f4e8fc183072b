"""Which tasks are asked for, and in which order."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, case, func, or_, select

from cosched.coscheduler.task import TaskState
from cosched.errors import UserError
from cosched.store import tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Select

__all__ = ["LateTasks", "TaskColumn", "TaskOrder", "TaskSelection"]

_FINAL_TASKS = [str(state) for state in TaskState if state.final]
_WITHOUT_SLACK = [str(TaskState.FAILED), str(TaskState.CANCELLED)]


@dataclass(frozen=True, slots=True)
class LateTasks:
    """Late tasks of the core, which the database alone does not know.

    Attributes:
        time: now; a task that has not ended by its deadline is late.
        expected: identifiers of tasks that will end after their deadlines, as the plan has it.
    """

    time: float
    expected: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskSelection:
    """Conditions on tasks; all that are given must hold.

    Attributes:
        states: the task is in one of these.
        owner: the task is this user's.
        text: the name or application has these words, in any case of letters, or they are identifier or owner.
        name: pattern of the name, in which `*` and `?` stand for anything; empty for any.
        late: only tasks that are late.
        array: the task is of this array; empty for any.
        ids: the task is one of these; None for any.
        application: the task is of this application; None for any.
        since: the task was submitted then or later, seconds since the epoch; None for any time.
    """

    states: tuple[TaskState, ...] = ()
    owner: str | None = None
    text: str = ""
    name: str = ""
    late: LateTasks | None = None
    array: str = ""
    ids: tuple[str, ...] | None = None
    application: str | None = None
    since: float | None = None

    def conditions(self) -> list[ColumnElement[bool]]:
        """Return the conditions on rows of the table `tasks`; all must hold."""
        columns = tables.tasks.c
        found: list[ColumnElement[bool]] = []
        if self.states:
            found.append(columns.state.in_([str(state) for state in self.states]))
        if self.owner is not None:
            found.append(columns.owner == self.owner)
        if self.text:
            found.append(
                or_(
                    columns.name.icontains(self.text, autoescape=True),
                    columns.application.icontains(self.text, autoescape=True),
                    columns.id == self.text,
                    columns.owner == self.text,
                )
            )
        if self.application is not None:
            found.append(columns.application == self.application)
        if self.since is not None:
            found.append(columns.submitted >= self.since)
        if self.name:
            found.append(columns.name.op("GLOB")(self.name.replace("[", "[[]")))  # it would begin a set of characters
        if self.array:
            found.append(columns.array == self.array)
        if self.ids is not None:
            found.append(columns.id.in_(_listed_values(self.ids)))
        if self.late is not None:
            completed = and_(columns.state == str(TaskState.COMPLETED), columns.finished > columns.deadline)
            overdue = and_(columns.state.not_in(_FINAL_TASKS), columns.deadline < self.late.time)
            found.append(or_(completed, overdue, columns.id.in_(_listed_values(self.late.expected))))
        return found


class TaskColumn(StrEnum):
    """Orders of a list of tasks."""

    NUMBER = "number"
    NAME = "name"
    STATE = "state"
    APPLICATION = "application"
    OWNER = "owner"
    HOSTS = "hosts"
    SUBMITTED = "submitted"
    END = "end"
    DEADLINE = "deadline"
    SLACK = "slack"

    @property
    def predicted(self) -> bool:
        """Return whether it depends on when tasks are expected to end."""
        return self in (TaskColumn.END, TaskColumn.SLACK)


@dataclass(frozen=True, slots=True)
class TaskOrder:
    """The order of a list of tasks: what has no value stands last, of equal ones the newest first.

    Attributes:
        column: what is compared.
        descending: whether the highest stands first.
        expected: identifiers and ends (epoch seconds) of the tasks that are expected to end.
    """

    column: TaskColumn = TaskColumn.NUMBER
    descending: bool = True
    expected: tuple[tuple[str, float], ...] = ()

    @classmethod
    def read(cls, text: str) -> TaskOrder:
        """Return the order that a text names: a column, with `-` before it the highest first.

        Raises:
            UserError: there is no such column.
        """
        name = text.removeprefix("-")
        try:
            return cls(TaskColumn(name), text.startswith("-"))
        except ValueError:
            columns = ", ".join(TaskColumn)
            raise UserError(
                f"tasks cannot be sorted by {name[:40]!r}: give one of {columns}, with - before it "
                "for the highest first"
            ) from None

    def applied(self, query: Select[Any]) -> Select[Any]:
        """Return a query of the table `tasks` in this order."""
        columns = tables.tasks.c
        compared: ColumnElement[Any]
        if self.column.predicted:
            # Written down, for SQLite makes an index of that alone.
            listed = func.json_each(json.dumps(dict(self.expected))).table_valued("key", "value")
            expected = select(listed.c.key, listed.c.value).cte("expected").prefix_with("MATERIALIZED")
            query = query.outerjoin_from(tables.tasks, expected, expected.c.key == columns.id)
            compared = func.coalesce(columns.finished, expected.c.value)
            if self.column is TaskColumn.SLACK:
                compared = case((columns.state.in_(_WITHOUT_SLACK), None), else_=columns.deadline - compared)
        elif self.column is TaskColumn.HOSTS:
            hosts = func.json_array_length(columns.hosts)
            compared = case((hosts > 0, hosts), else_=columns["count"])
        elif self.column in (TaskColumn.NAME, TaskColumn.APPLICATION, TaskColumn.OWNER):
            compared = func.lower(columns[self.column])
        else:
            compared = columns[self.column]
        sorted_ = compared.desc() if self.descending else compared.asc()
        return query.order_by(None).order_by(sorted_.nulls_last(), columns.number.desc())


def _listed_values(names: Sequence[str]) -> Select[Any]:
    """Return a query of some texts: one parameter, however many there are."""
    return select(func.json_each(json.dumps(names)).table_valued("value").c.value)
