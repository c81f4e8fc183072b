from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.simulation.experiments.ghs_completion import EXPERIMENT

if TYPE_CHECKING:
    from cosched.simulation.experiment import ResultRow

pytestmark = pytest.mark.xdist_group("experiment-ghs-completion")  # its tests share one run


@pytest.fixture(scope="module")
def rows() -> list[ResultRow]:
    return EXPERIMENT.run(1, EXPERIMENT.settings({"runs": "4000"}))


def test_every_way_is_simulated(rows: list[ResultRow]) -> None:
    assert {row["way"] for row in rows} == {"suspend", "share", "evict", "coupled", "independent"}


def test_formulas_are_near_the_simulation(rows: list[ResultRow]) -> None:
    for row in rows:
        assert abs(float(row["mean error"] or 0.0)) <= 0.02, row
        assert float(row["distribution error"] or 0.0) <= 0.04, row


def test_the_predicted_95_percent_hold_as_many_runs(rows: list[ResultRow]) -> None:
    assert all(0.93 <= float(row["within 95 %"] or 0.0) <= 0.98 for row in rows)


def test_a_chart_shows_how_much_slower_programs_are(rows: list[ResultRow]) -> None:
    assert list(EXPERIMENT.charts(rows, 1, {})) == ["slower"]
