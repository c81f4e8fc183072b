"""The outbox keeps notices until their receivers have taken them.

A notice is written with the change that it tells of, so that no crash loses it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select, update

from cosched.store import tables
from cosched.store.rows import Notice, insert_missing, record_of, row_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cosched.store.store import Store

__all__ = ["NoticeOutbox"]


class NoticeOutbox:
    """The notices in the database; every method raises `StoreFault` where that fails."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add(self, notices: Iterable[Notice]) -> None:
        """Add notices; those that are known already stay as they are."""
        rows = list(map(row_of, notices))
        if rows:
            self._store.write(insert_missing(tables.outbox).values(rows))

    def due(self, time: float, limit: int) -> list[Notice]:
        """Return the notices that are due, the oldest first."""
        table = tables.outbox
        query = select(table).where(table.c.due <= time).order_by(table.c.due).limit(limit)
        return [record_of(Notice, row) for row in self._store.read(query)]

    def put(self, notice: Notice) -> None:
        """Record a notice's next due time, its tries and its last fault."""
        table = tables.outbox
        same = (table.c.task == notice.task, table.c.kind == notice.kind, table.c.target == notice.target)
        changes = {"due": notice.due, "tries": notice.tries, "fault": notice.fault}
        self._store.write(update(table).where(*same).values(changes))
