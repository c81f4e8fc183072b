"""The store keeps where tasks were planned and how the search went."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from cosched.store import tables
from cosched.store.rows import upsert

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cosched.store.store import Store

    Points = Sequence[Sequence[float | None]]

__all__ = ["PlanPoints"]

_AT_ONCE = 200  # rows in one transaction: others write, too
_SEARCH = ""  # in place of a task


class PlanPoints:
    """Points are lists of numbers, the oldest first.

    Every method raises `StoreFault` where the database fails.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._put = upsert(tables.plans)

    def of(self, task: str) -> Points:
        """Return the points of a task; none of one that was never planned."""
        rows = self._store.read(select(tables.plans).where(tables.plans.c.task == task))
        return rows[0]["points"] if rows else []

    def of_several(self, tasks: Sequence[str]) -> dict[str, Points]:
        """Return the points of tasks by identifier; tasks without points are left out."""
        found: dict[str, Points] = {}
        for begin in range(0, len(tasks), _AT_ONCE):  # databases bound the number of values in a question
            query = select(tables.plans).where(tables.plans.c.task.in_(tasks[begin : begin + _AT_ONCE]))
            found |= {row["task"]: row["points"] for row in self._store.read(query)}
        return found

    def search(self) -> Points:
        """Return the points of the search."""
        return self.of(_SEARCH)

    def put(self, tasks: Mapping[str, Points], search: Points) -> None:
        """Replace the points of these tasks and of the search."""
        rows = [{"task": _SEARCH, "points": search}, *({"task": name, "points": each} for name, each in tasks.items())]
        for begin in range(0, len(rows), _AT_ONCE):
            self._write(rows[begin : begin + _AT_ONCE])

    def _write(self, rows: Iterable[Mapping[str, Any]]) -> None:
        self._store.write(self._put.values(list(rows)))
