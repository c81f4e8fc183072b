from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.simulation.experiment import averaged_rows

if TYPE_CHECKING:
    from cosched.simulation.experiment import ResultRow


def test_one_seed_is_left_as_it_is() -> None:
    table: list[ResultRow] = [{"policy": "edf", "makespan": 3.0}]
    assert averaged_rows([table], ["policy"]) == table


def test_the_mean_and_its_interval() -> None:
    """Of 1, 2, 3: mean 2, s = 1, t(2) = 4.303, so ± 4.303/√3."""
    tables: list[list[ResultRow]] = [[{"policy": "edf", "makespan": value}] for value in (1.0, 2.0, 3.0)]
    (row,) = averaged_rows(tables, ["policy"])
    assert row["policy"] == "edf"
    assert row["makespan"] == 2.0
    assert row["makespan_ci95"] == pytest.approx(4.303 / 3**0.5)


def test_what_is_missing_is_left_out_of_the_mean() -> None:
    tables: list[list[ResultRow]] = [[{"share": None}], [{"share": 0.5}]]
    assert averaged_rows(tables, []) == [{"share": 0.5, "share_ci95": None}]
    assert averaged_rows([[{"share": None}], [{"share": None}]], []) == [{"share": None, "share_ci95": None}]


def test_rows_that_do_not_belong_together_are_refused() -> None:
    with pytest.raises(ValueError, match="policy"):
        averaged_rows([[{"policy": "edf"}], [{"policy": "easy"}]], ["policy"])
