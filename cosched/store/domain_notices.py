"""The store keeps the notices that administrators write for everybody."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import delete, insert, select

from cosched.store import tables
from cosched.store.rows import records_of, row_of

if TYPE_CHECKING:
    from cosched.store.store import Store

__all__ = ["DomainNotice", "DomainNoticeTable"]


@dataclass(frozen=True, slots=True)
class DomainNotice:
    """A line that an administrator tells everybody. Times are epoch seconds.

    Attributes:
        id: its name.
        text: one line.
        until: when it is no longer shown.
        by: the administrator.
        created: when it was written.
    """

    id: str
    text: str
    until: float
    by: str
    created: float


class DomainNoticeTable:
    """Keeps notices; methods raise `StoreFault` where the database fails."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def after(self, time: float) -> tuple[DomainNotice, ...]:
        """Return the notices that are shown after a time, the oldest first."""
        table = tables.notices
        found = self._store.read(select(table).where(table.c.until > time).order_by(table.c.created, table.c.id))
        return records_of(DomainNotice, found)

    def add(self, notice: DomainNotice) -> None:
        """Keep a notice, and forget those that were over when it was written."""
        table = tables.notices
        over = delete(table).where(table.c.until <= notice.created)
        self._store.write(over, insert(table).values(row_of(notice)))

    def remove(self, identifier: str) -> None:
        """Forget a notice."""
        self._store.write(delete(tables.notices).where(tables.notices.c.id == identifier))
