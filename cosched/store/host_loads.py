"""The store keeps what owners and foreign jobs took of hosts, hour by hour."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import delete, select

from cosched.prediction.loads.load_history import HourlyLoad
from cosched.store import tables
from cosched.store.rows import records_of, row_of, upsert

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.store.store import Store

__all__ = ["HostLoadTable"]

_AT_ONCE = 200  # rows in one transaction: others write, too


class HostLoadTable:
    """Hours of hosts; every method raises `StoreFault` where the database fails."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._put = upsert(tables.host_loads)

    def all(self) -> Sequence[HourlyLoad]:
        """Return all hours that are kept."""
        query = select(tables.host_loads).order_by(tables.host_loads.c.host, tables.host_loads.c.hour)
        return records_of(HourlyLoad, self._store.read(query))

    def put(self, rows: Sequence[HourlyLoad]) -> None:
        """Add hours, or replace known ones."""
        for begin in range(0, len(rows), _AT_ONCE):
            self._store.write(self._put.values([row_of(row) for row in rows[begin : begin + _AT_ONCE]]))

    def forget_before(self, hour: int) -> None:
        """Delete the hours before one, counted since the epoch."""
        self._store.write(delete(tables.host_loads).where(tables.host_loads.c.hour < hour))
