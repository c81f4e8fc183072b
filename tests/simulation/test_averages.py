from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.simulation.averages import averaged

if TYPE_CHECKING:
    from cosched.simulation.experiment import Row


def test_one_seed_is_left_as_it_is() -> None:
    table: list[Row] = [{"policy": "edf", "makespan": 3.0}]
    assert averaged([table], ["policy"]) == table


def test_the_mean_and_its_interval() -> None:
    """Of 1, 2, 3: mean 2, s = 1, t(2) = 4.303, so ± 4.303/√3."""
    tables: list[list[Row]] = [[{"policy": "edf", "makespan": value}] for value in (1.0, 2.0, 3.0)]
    (row,) = averaged(tables, ["policy"])
    assert row["policy"] == "edf"
    assert row["makespan"] == 2.0
    assert row["makespan_ci95"] == pytest.approx(4.303 / 3**0.5)


def test_what_is_missing_is_left_out_of_the_mean() -> None:
    tables: list[list[Row]] = [[{"share": None}], [{"share": 0.5}]]
    assert averaged(tables, []) == [{"share": 0.5, "share_ci95": None}]
    assert averaged([[{"share": None}], [{"share": None}]], []) == [{"share": None, "share_ci95": None}]


def test_rows_that_do_not_belong_together_are_refused() -> None:
    with pytest.raises(ValueError, match="policy"):
        averaged([[{"policy": "edf"}], [{"policy": "easy"}]], ["policy"])
