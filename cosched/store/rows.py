"""Records are dataclasses, rows hold their fields by name; statements put rows in place.

Start at `row_of` and `record_of`; columns convert their values themselves (`cosched.store.column_types`).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from sqlalchemy import bindparam, select
from sqlalchemy.dialects.sqlite import insert

from cosched.coscheduler.task import Task, TaskSpec, TaskStatus
from cosched.store import tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from _typeshed import DataclassInstance
    from sqlalchemy import Table
    from sqlalchemy.dialects.sqlite import Insert

__all__ = [
    "HANDOVERS",
    "HANDOVERS_OF",
    "Notice",
    "TableRow",
    "columns_of",
    "end_notices",
    "insert_missing",
    "record_of",
    "records_of",
    "row_of",
    "upsert",
]

R = TypeVar("R", bound="DataclassInstance")


class TableRow(Protocol):
    """A row of a query's result: values by names of columns."""

    def __getitem__(self, name: str, /) -> Any:
        """Return a column's value."""
        ...


# Fields of a kind of record that have no column: the fields of their own values have.
_PARTS: Mapping[type, Mapping[str, type]] = {Task: {"spec": TaskSpec, "status": TaskStatus}}


def columns_of(kind: type) -> Mapping[str, str]:
    """Return a record type's columns with the dotted path of the field of each."""
    columns = {name: name for name in _own_columns(kind)}
    for part, values in _PARTS.get(kind, {}).items():
        columns |= {name: f"{part}.{path}" for name, path in columns_of(values).items()}
    return columns


@cache
def _own_columns(kind: type) -> tuple[str, ...]:
    return tuple(item.name for item in fields(kind) if item.name not in _PARTS.get(kind, {}))


@cache
def _reader(kind: type) -> tuple[tuple[str, ...], Callable[[object], tuple[Any, ...]]]:
    columns = columns_of(kind)
    return tuple(columns), attrgetter(*columns.values())


def row_of(record: DataclassInstance) -> dict[str, Any]:
    """Return the record as a row of its table."""
    names, values = _reader(type(record))
    return dict(zip(names, values(record), strict=True))


def record_of(kind: type[R], row: TableRow, prefix: str = "") -> R:
    """Return the record of a row, from columns that begin with `prefix`."""
    values: dict[str, Any] = {name: row[prefix + name] for name in _own_columns(kind)}
    for name, part in _PARTS.get(kind, {}).items():
        values[name] = record_of(part, row, prefix)
    return kind(**values)


def records_of(kind: type[R], rows: Iterable[TableRow]) -> tuple[R, ...]:
    """Return the records of rows."""
    return tuple(record_of(kind, row) for row in rows)


@cache
def upsert(table: Table) -> Insert:
    """Return the statement that adds rows or replaces those of the same primary key."""
    statement = insert(table)
    keys = list(table.primary_key.columns.keys())
    changes = {column.name: statement.excluded[column.name] for column in table.columns if column.name not in keys}
    return statement.on_conflict_do_update(index_elements=keys, set_=changes)


def insert_missing(table: Table) -> Insert:
    """Return the statement that adds rows unless their primary key is there."""
    return insert(table).on_conflict_do_nothing()


# Built once: every look at a task executes one of them.
HANDOVERS = select(tables.handovers).order_by(tables.handovers.c.created, tables.handovers.c.epoch)
HANDOVERS_OF = HANDOVERS.where(tables.handovers.c.task == bindparam("task"))


@dataclass(frozen=True, slots=True)
class Notice:
    """A message about a task that its user wished for.

    Attributes:
        task: identifier of the task.
        kind: "completed", "failed", "cancelled", "late" or "unstarted".
        target: mailto:… or https://….
        created: when it became true, seconds since the epoch.
        due: time of the next try; None once it was sent or given up.
        tries: number of failed tries.
        fault: reason of the last failure.
    """

    task: str
    kind: str
    target: str
    created: float
    due: float | None
    tries: int = 0
    fault: str = ""


def end_notices(tasks: Iterable[Task]) -> list[Notice]:
    """Return the notices of tasks that have ended."""
    return [
        Notice(
            task.id,
            str(task.status.state),
            target,
            task.status.finished or task.submitted,
            task.status.finished or task.submitted,
        )
        for task in tasks
        if task.status.state.final
        for target in task.spec.notify
    ]
