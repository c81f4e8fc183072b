"""Hand-overs between domains in the database: what we gave, what we took, and how often the agent has started."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, func, insert, select

from cosched.agent.documents import read_task, write_task
from cosched.agent.records import Guest, GuestState, Handover, HandoverState
from cosched.store import schema
from cosched.store.rows import task_of

if TYPE_CHECKING:
    from sqlalchemy import RowMapping

    from cosched.coscheduler.task import Task
    from cosched.store.rows import Row
    from cosched.store.store import Store

__all__ = ["HANDOVERS_OF", "Exchange", "guest_row", "handover_of", "handover_row"]

_HANDOVER = tuple(item.name for item in fields(Handover))
_GUEST = tuple(item.name for item in fields(Guest))
# Put together once: asked whenever somebody looks at a task.
_HANDOVERS = select(schema.handovers).order_by(schema.handovers.c.created, schema.handovers.c.epoch)
HANDOVERS_OF = _HANDOVERS.where(schema.handovers.c.task == bindparam("task"))
"""The hand-overs of a task, oldest first."""


def handover_row(handover: Handover) -> dict[str, Any]:
    """Return a hand-over as a row of the table `handovers`."""
    return {name: getattr(handover, name) for name in _HANDOVER} | {"state": str(handover.state)}


def guest_row(guest: Guest) -> dict[str, Any]:
    """Return a guest as a row of the table `guests`."""
    row = {name: getattr(guest, name) for name in _GUEST}
    return row | {"state": str(guest.state), "visited": list(guest.visited), "document": write_task(guest.document)}


class Exchange:
    """Reads them; they are written with the tasks they belong to, by `Store.save`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def begin_life(self, time: float) -> int:
        """Return the number of the life that begins now; it is greater than any before, also after a crash."""
        last = self._store.read(select(func.max(schema.lives.c.number).label("last")))[0]["last"]
        number = int(last or 0) + 1
        self._store.write(insert(schema.lives).values(number=number, begun=time))
        return number

    def handovers(self, task: str = "") -> tuple[Handover, ...]:
        """Return the hand-overs of a task, oldest first; where none is named, of all tasks that live."""
        if task:
            return tuple(map(handover_of, self._store.read(HANDOVERS_OF, {"task": task})))
        live = select(schema.tasks.c.id).where(schema.tasks.c.state.not_in(("completed", "failed", "cancelled")))
        return tuple(map(handover_of, self._store.read(_HANDOVERS.where(schema.handovers.c.task.in_(live)))))

    def guest(self, peer: str, uuid: str) -> Guest | None:
        """Return a neighbour's task that has come here, settled or not."""
        guests = schema.guests.c
        rows = self._store.read(select(schema.guests).where(guests.peer == peer, guests.uuid == uuid))
        return _guest_of(rows[0]) if rows else None

    def guests(self) -> tuple[tuple[Guest, ...], dict[str, Task]]:
        """Return the guests that are not settled, and the tasks of those that have ended, by identifier."""
        open_ = schema.guests.c.state != str(GuestState.SETTLED)
        guests = tuple(map(_guest_of, self._store.read(select(schema.guests).where(open_))))
        ended = [guest.task for guest in guests if guest.state is GuestState.ENDED]
        rows = self._store.read(select(schema.tasks).where(schema.tasks.c.id.in_(ended))) if ended else ()
        return guests, {row["id"]: task_of(row) for row in rows}


def handover_of(row: Row) -> Handover:
    """Return the hand-over that a row of the table `handovers` holds."""
    return Handover(**{name: row[name] for name in _HANDOVER} | {"state": HandoverState(row["state"])})


def _guest_of(row: RowMapping) -> Guest:
    values = {name: row[name] for name in _GUEST}
    values |= {"state": GuestState(row["state"]), "visited": tuple(row["visited"])}
    return Guest(**values | {"document": read_task(row["document"])})
