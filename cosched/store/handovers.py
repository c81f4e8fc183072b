"""The store reads hand-overs and guests, and counts the agent's lives.

They are written with their tasks, by `Store.commit`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import func, insert, select

from cosched.coscheduler.handovers import Guest, GuestState, Handover
from cosched.coscheduler.task import Task
from cosched.store import tables
from cosched.store.rows import HANDOVERS, HANDOVERS_OF, record_of, records_of

if TYPE_CHECKING:
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

    def guests(self) -> tuple[tuple[Guest, ...], dict[str, Task]]:
        """Return the unsettled guests, and by identifier the tasks of ended ones."""
        open_ = tables.guests.c.state != str(GuestState.SETTLED)
        guests = records_of(Guest, self._store.read(select(tables.guests).where(open_)))
        ended = [guest.task for guest in guests if guest.state is GuestState.ENDED]
        rows = self._store.read(select(tables.tasks).where(tables.tasks.c.id.in_(ended))) if ended else ()
        return guests, {row["id"]: record_of(Task, row) for row in rows}
