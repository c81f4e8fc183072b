"""The store keeps shares that were set by command, and reads what users have had.

Usage is written with the attempts that it is charged for, by `Store.commit`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import delete, select

from cosched.coscheduler.sharing.shares import ShareSetting, UserUsage
from cosched.store import tables
from cosched.store.rows import records_of, row_of, upsert

if TYPE_CHECKING:
    from cosched.coscheduler.sharing.shares import ShareKind
    from cosched.store.store import Store

__all__ = ["ShareTable"]


class ShareTable:
    """Keeps settings of shares; methods raise `StoreFault` where the database fails."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def usage(self) -> tuple[UserUsage, ...]:
        """Return what each user has had, as it was last written."""
        return records_of(UserUsage, self._store.read(select(tables.usage).order_by(tables.usage.c.user)))

    def settings(self) -> tuple[ShareSetting, ...]:
        """Return the shares that were set by command."""
        table = tables.shares
        return records_of(ShareSetting, self._store.read(select(table).order_by(table.c.kind, table.c.name)))

    def put(self, setting: ShareSetting) -> None:
        """Keep a setting in place of an earlier one."""
        self._store.write(upsert(tables.shares).values(row_of(setting)))

    def remove(self, kind: ShareKind, name: str) -> None:
        """Forget a setting: the configuration holds again."""
        table = tables.shares
        self._store.write(delete(table).where(table.c.kind == str(kind), table.c.name == name))
