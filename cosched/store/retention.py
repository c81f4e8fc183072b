"""Retention deletes what ended before a given time.

Tasks with attempts, hand-overs, log and notices; reservations, submission keys, audit log. Start at `prune`.
"""

from __future__ import annotations

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

__all__ = ["ended_before", "prune"]

_FINAL = [str(state) for state in TaskState if state.final]
_LIVE = [str(state) for state in AttemptState if state.live]
_HANDED = [str(state) for state in HandoverState if state.live]


def prune(store: Store, before: float, limit: int = 500) -> int:
    """Delete up to `limit` tasks that ended before a time; return their number.

    Records of that age are deleted with them.

    A task stays while it has a live attempt, while a neighbour may have it, and until its neighbour has confirmed its
    end. Settled hand-overs go with their task: a neighbour that asks later to start it is refused, and its output is
    gone. The newest task stays, so that no number is given twice. A key stays as long as one of its tasks.

    Raises:
        StoreFault: nothing was deleted.
    """
    gone = [str(row["id"]) for row in store.read(ended_before(before).limit(limit))]
    tasks = tables.tasks.c.id
    statements: list[Executable] = [
        delete(table).where(column.in_(gone))
        for table, column in (
            (tables.attempts, tables.attempts.c.task),
            (tables.events, tables.events.c.task),
            (tables.handovers, tables.handovers.c.task),
            (tables.guests, tables.guests.c.task),
            (tables.outbox, tables.outbox.c.task),
            (tables.plans, tables.plans.c.task),
            (tables.tasks, tasks),
        )
    ]
    keys = _keys(store, before, set(gone))
    statements += [delete(tables.submission_keys).where(_same_key(owner, key)) for owner, key in keys]
    old = and_(tables.events.c.task == "", tables.events.c.time < before)
    store.write(
        *statements,
        delete(tables.events).where(old),
        delete(tables.audit).where(tables.audit.c.time < before),
        delete(tables.tokens).where(tables.tokens.c.expires < before),
        delete(tables.reservations).where(tables.reservations.c.end < before),
    )
    store.forget_counts()
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


def _keys(store: Store, before: float, gone: set[str]) -> list[tuple[str, str]]:
    """Return the submission keys that have no task left once `gone` are deleted."""
    table = tables.submission_keys
    rows = store.read(select(table).where(table.c.created < before))
    named: set[str] = {task for row in rows for task in row["tasks"]} - gone
    left = _present(store, sorted(named))
    return [(row["owner"], row["key"]) for row in rows if not left.intersection(row["tasks"])]


def _present(store: Store, names: Sequence[str]) -> set[str]:
    found: set[str] = set()
    for start in range(0, len(names), 500):  # databases bound the number of values in a question
        query = select(tables.tasks.c.id).where(tables.tasks.c.id.in_(names[start : start + 500]))
        found |= {str(row["id"]) for row in store.read(query)}
    return found


def _same_key(owner: str, key: str) -> ColumnElement[bool]:
    columns = tables.submission_keys.c
    return and_(columns.owner == owner, columns.key == key)
