"""What is still to be told, and to whom: written with the change that it tells of, so that no crash loses it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import select, update
from sqlalchemy.dialects import postgresql, sqlite

from cosched.store import schema

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Executable

    from cosched.coscheduler.task import Task
    from cosched.store.store import Store

__all__ = ["Notice", "Outbox", "ends", "put_in"]


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


def ends(tasks: Iterable[Task]) -> list[Notice]:
    """Return what is to be told of tasks that have ended."""
    return [
        Notice(task.id, str(task.state), target, task.finished or task.submitted, task.finished or task.submitted)
        for task in tasks
        if task.state.final
        for target in task.notify
    ]


def put_in(dialect: str) -> Executable:
    """Return the statement that puts notices in; those that are there already stay as they are."""
    words: Any = postgresql if dialect == "postgresql" else sqlite
    return words.insert(schema.outbox).on_conflict_do_nothing()  # type: ignore[no-any-return]  # Any above


class Outbox:
    """The notices in the database; every method raises `StoreFault` where that fails."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add(self, notices: Iterable[Notice]) -> None:
        """Put notices in, each once."""
        rows = [asdict(notice) for notice in notices]
        if rows:
            self._store.write(*(put_in(self._store.dialect).values(row) for row in rows))  # type: ignore[attr-defined]  # an insert

    def due(self, time: float, limit: int) -> list[Notice]:
        """Return what is to be sent now, the oldest first."""
        table = schema.outbox
        query = select(table).where(table.c.due <= time).order_by(table.c.due).limit(limit)
        return [Notice(**row) for row in self._store.read(query)]

    def put(self, notice: Notice) -> None:
        """Write down what became of a notice."""
        table = schema.outbox
        same = (table.c.task == notice.task, table.c.kind == notice.kind, table.c.target == notice.target)
        changes = {"due": notice.due, "tries": notice.tries, "fault": notice.fault}
        self._store.write(update(table).where(*same).values(changes))
