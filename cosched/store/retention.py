"""Retention deletes what ended before a given time.

Tasks with attempts, hand-overs, log and notices; reservations, submission keys, audit log. Start at `Retention.prune`.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from sqlalchemy import and_, delete, func, select

from cosched.coscheduler.attempts.attempt import AttemptState
from cosched.coscheduler.handovers import GuestState, HandoverState
from cosched.coscheduler.task import TaskState
from cosched.store import tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Executable, Select

    from cosched.store.store import Store

__all__ = ["Retention", "ended_before"]

_FINAL = [str(state) for state in TaskState if state.final]
_LIVE = [str(state) for state in AttemptState if state.live]
_HANDED = [str(state) for state in HandoverState if state.live]


class Retention:
    """Deletes what ended before a time, in parts, as others write, too."""

    def __init__(self, store: Store, before: float) -> None:
        """Read the submission keys of before that time, once for all parts.

        Args:
            store: the store to delete from.
            before: epoch seconds.

        Raises:
            StoreFault: the database cannot be read.
        """
        self._store, self._before = store, before
        self._keys = _OldKeys(store, before)

    def prune(self, limit: int = 500) -> int:
        """Delete up to `limit` tasks, the first to end first, and records of their age; return the number of tasks.

        A task stays while it has a live attempt, while a neighbour may have it, and until its neighbour has confirmed
        its end. Settled hand-overs go with their task: a neighbour that asks later to start it is refused, and its
        output is gone. The newest task stays, so that no number is given twice. A key stays as long as one of its
        tasks.

        Raises:
            StoreFault: nothing was deleted; another `Retention` may try again.
        """
        before = self._before
        gone = [str(row["id"]) for row in self._store.read(ended_before(before).limit(limit))]
        statements: list[Executable] = [
            delete(table).where(column.in_(gone))
            for table, column in (
                (tables.attempts, tables.attempts.c.task),
                (tables.events, tables.events.c.task),
                (tables.handovers, tables.handovers.c.task),
                (tables.guests, tables.guests.c.task),
                (tables.outbox, tables.outbox.c.task),
                (tables.plans, tables.plans.c.task),
                (tables.tasks, tables.tasks.c.id),
            )
        ]
        statements += [
            delete(tables.submission_keys).where(_same_key(owner, key)) for owner, key in self._keys.without(gone)
        ]
        old = and_(tables.events.c.task == "", tables.events.c.time < before)
        self._store.write(
            *statements,
            delete(tables.events).where(old),
            delete(tables.audit).where(tables.audit.c.time < before),
            delete(tables.tokens).where(tables.tokens.c.expires < before),
            delete(tables.reservations).where(tables.reservations.c.end < before),
        )
        self._store.forget_counts()
        return len(gone)


def ended_before(time: float) -> Select[tuple[str]]:
    """Return the query for tasks that may be deleted, the first to end first.

    They ended before `time`.
    """
    tasks, attempts = tables.tasks.c, tables.attempts.c
    busy = select(attempts.task).where(attempts.state.in_(_LIVE))
    given, taken = tables.handovers.c, tables.guests.c
    shared = (
        select(given.task)
        .where(given.state.in_(_HANDED))
        .union_all(select(taken.task).where(taken.state != str(GuestState.SETTLED)))
    )
    newest = select(func.max(tasks.number)).scalar_subquery()
    query = select(tasks.id).where(
        tasks.state.in_(_FINAL),
        tasks.finished < time,
        tasks.number != newest,
        tasks.id.not_in(busy),
        tasks.id.not_in(shared),
    )
    return query.order_by(tasks.finished)


class _OldKeys:
    """Submission keys of before a time, with the number of tasks that each has left."""

    def __init__(self, store: Store, before: float) -> None:
        table = tables.submission_keys
        rows = store.read(select(table.c.owner, table.c.key, table.c.tasks).where(table.c.created < before))
        left = _present(store, sorted({task for row in rows for task in row["tasks"]}))
        self._left: Counter[tuple[str, str]] = Counter()
        self._of_task: dict[str, list[tuple[str, str]]] = {}
        self._unused: list[tuple[str, str]] = []
        for row in rows:
            name, tasks = (row["owner"], row["key"]), left.intersection(row["tasks"])
            self._left[name] = len(tasks)
            for task in tasks:
                self._of_task.setdefault(task, []).append(name)
            if not tasks:
                self._unused.append(name)

    def without(self, gone: Sequence[str]) -> list[tuple[str, str]]:
        """Return owner and key of those that have no task left once `gone` are deleted, each only once."""
        unused, self._unused = self._unused, []
        for task in gone:
            for name in self._of_task.pop(task, ()):
                self._left[name] -= 1
                if not self._left[name]:
                    unused.append(name)
        return unused


def _present(store: Store, names: Sequence[str]) -> set[str]:
    found: set[str] = set()
    for start in range(0, len(names), 500):  # databases bound the number of values in a question
        query = select(tables.tasks.c.id).where(tables.tasks.c.id.in_(names[start : start + 500]))
        found |= {str(row["id"]) for row in store.read(query)}
    return found


def _same_key(owner: str, key: str) -> ColumnElement[bool]:
    columns = tables.submission_keys.c
    return and_(columns.owner == owner, columns.key == key)
