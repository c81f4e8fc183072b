"""The store keeps the submit forms that users have named."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import delete, select

from cosched.store import tables
from cosched.store.rows import records_of, row_of, upsert

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cosched.store.store import Store

__all__ = ["SavedForm", "SavedFormTable"]


@dataclass(frozen=True, slots=True)
class SavedForm:
    """Contents of a submit form. Times are epoch seconds, durations seconds.

    Attributes:
        owner: its user.
        name: that the user gave it.
        fields: values of its fields by name.
        ahead: how far its deadline was ahead when it was saved; None without one.
        saved: when that was.
    """

    owner: str
    name: str
    fields: Mapping[str, str]
    ahead: float | None
    saved: float


class SavedFormTable:
    """Keeps forms; methods raise `StoreFault` where the database fails."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def of(self, owner: str) -> tuple[SavedForm, ...]:
        """Return a user's forms by name."""
        table = tables.forms
        return records_of(
            SavedForm, self._store.read(select(table).where(table.c.owner == owner).order_by(table.c.name))
        )

    def put(self, form: SavedForm) -> None:
        """Keep a form in place of one of the same name."""
        self._store.write(upsert(tables.forms).values(row_of(form)))

    def remove(self, owner: str, name: str) -> None:
        """Forget a form."""
        table = tables.forms
        self._store.write(delete(table).where(table.c.owner == owner, table.c.name == name))
