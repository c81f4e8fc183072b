from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.prediction.loads.load_history import HourlyLoad, LoadCause
from cosched.store import Store
from cosched.store.host_loads import HostLoadTable
from tests.store.new_database import new_database

if TYPE_CHECKING:
    from pathlib import Path


def test_hours_are_kept_replaced_and_forgotten(tmp_path: Path) -> None:
    store = Store(new_database(tmp_path))
    table = HostLoadTable(store)
    many = [HourlyLoad(f"h{number:03d}", 7, 3600.0, 600.0, 300.0, 2, 600.0, 2e5) for number in range(450)]
    table.put(many)
    table.put([HourlyLoad("h000", 8, 10.0), HourlyLoad("h000", 7, 5.0, cause=LoadCause.JOBS)])
    table.put([HourlyLoad("h001", 7, 3.0)])
    kept = {(row.cause, row.host, row.hour): row for row in table.all()}
    assert len(kept) == 452
    assert kept[LoadCause.OWNER, "h449", 7] == many[449]
    assert kept[LoadCause.OWNER, "h001", 7].seconds == 3.0
    assert kept[LoadCause.JOBS, "h000", 7].seconds == 5.0
    table.forget_before(8)
    assert [(row.host, row.hour) for row in table.all()] == [("h000", 8)]
    store.close()
