"""The store reads hand-overs and guests, and counts the agent's lives.

They are written with their tasks, by `Store.commit`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import Text, case, cast, func, insert, literal, select, union_all

from cosched.coscheduler.handovers import Guest, GuestState, Handover
from cosched.coscheduler.task import Task
from cosched.store import tables
from cosched.store.rows import HANDOVERS, HANDOVERS_OF, record_of, records_of

if TYPE_CHECKING:
    from cosched.store.rows import TableRow
    from cosched.store.store import Store

__all__ = ["HandoverTable"]


class HandoverTable:
    """Reads them; they are written with the tasks they belong to, by `Store.commit`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def next_life(self, time: float) -> int:
        """Return the number of the life that begins now, greater than any before.

        That holds after a crash, too.

        Greater than those that a restored database has forgotten, too, by which neighbours would take its letters for
        old ones: it is not below the time (epoch seconds).
        """
        last = self._store.read(select(func.max(tables.lives.c.number).label("last")))[0]["last"]
        number = max(int(last or 0) + 1, int(time))
        self._store.write(insert(tables.lives).values(number=number, begun=time))
        return number

    def handovers(self, task: str = "") -> tuple[Handover, ...]:
        """Return the hand-overs of a task, oldest first; without a task, of all live ones."""
        if task:
            return records_of(Handover, self._store.read(HANDOVERS_OF, {"task": task}))
        live = select(tables.tasks.c.id).where(tables.tasks.c.state.not_in(("completed", "failed", "cancelled")))
        return records_of(Handover, self._store.read(HANDOVERS.where(tables.handovers.c.task.in_(live))))

    def guest(self, peer: str, uuid: str) -> Guest | None:
        """Return a neighbour's task that has come here, settled or not."""
        guests = tables.guests.c
        rows = self._store.read(select(tables.guests).where(guests.peer == peer, guests.uuid == uuid))
        return record_of(Guest, rows[0]) if rows else None

    def exchanged(self, since: float, owner: str | None, limit: int) -> list[TableRow]:
        """Return the tasks that went to neighbours or came from them since a time, the newest first.

        Args:
            since: epoch seconds.
            owner: only of this user's; None for all.
            limit: how many at most.

        Returns:
            Rows with `peer`, `direction`, `task`, `name`, `owner`, `time`, `state`, `closed` and `why`.
        """
        tasks, handovers, guests = tables.tasks.c, tables.handovers.c, tables.guests.c
        ended = case((handovers.outcome != "", handovers.why + "; " + handovers.outcome), else_=handovers.why)
        sent = select(
            handovers.peer,
            literal("sent").label("direction"),
            tasks.id.label("task"),
            tasks.name,
            tasks.owner,
            handovers.created.label("time"),
            cast(handovers.state, Text).label("state"),
            handovers.closed,
            ended.label("why"),
        ).join_from(tables.handovers, tables.tasks, tasks.id == handovers.task)
        received = select(
            guests.peer,
            literal("received").label("direction"),
            tasks.id.label("task"),
            tasks.name,
            tasks.owner,
            guests.created.label("time"),
            cast(tasks.state, Text).label("state"),
            tasks.finished.label("closed"),
            literal("").label("why"),
        ).join_from(tables.guests, tables.tasks, tasks.id == guests.task)
        mine = () if owner is None else (tasks.owner == owner,)
        both = union_all(
            sent.where(handovers.created > since, *mine), received.where(guests.created > since, *mine)
        ).subquery()
        return list(self._store.read(select(both).order_by(both.c.time.desc(), both.c.task.desc()).limit(limit)))

    def guests(self) -> tuple[tuple[Guest, ...], dict[str, Task]]:
        """Return the unsettled guests, and by identifier the tasks of ended ones."""
        open_ = tables.guests.c.state != str(GuestState.SETTLED)
        guests = records_of(Guest, self._store.read(select(tables.guests).where(open_)))
        ended = [guest.task for guest in guests if guest.state is GuestState.ENDED]
        rows = self._store.read(select(tables.tasks).where(tables.tasks.c.id.in_(ended))) if ended else ()
        return guests, {row["id"]: record_of(Task, row) for row in rows}
