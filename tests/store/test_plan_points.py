from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.store import Store
from cosched.store.plan_points import PlanPoints
from tests.store.new_database import new_database

if TYPE_CHECKING:
    from pathlib import Path


def test_what_is_put_is_found_and_replaced(tmp_path: Path) -> None:
    store = Store(new_database(tmp_path))
    plans = PlanPoints(store)
    assert (plans.of("1"), plans.search()) == ([], [])
    many = {str(number): [[1.0, 2.0, 3.0, number]] for number in range(1, 501)}
    plans.put(many, [[1.0, 2.0, None, 4]])
    plans.put({"1": [[1.0, 2.0, 3.0, 1], [2.0, 3.0, 4.0, 1]]}, [])
    assert plans.of("1") == [[1.0, 2.0, 3.0, 1], [2.0, 3.0, 4.0, 1]]
    assert plans.of_several([*many, "none"]) == many | {"1": plans.of("1")}
    assert plans.search() == []
    store.close()
