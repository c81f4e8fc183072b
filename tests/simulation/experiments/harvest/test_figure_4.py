from __future__ import annotations

import pytest

from cosched.simulation.experiments.harvest.figure_4 import EXPERIMENT, PerformanceMatrix


def test_history_learns_what_the_matrix_does_not() -> None:
    rows = EXPERIMENT.run(1, EXPERIMENT.settings({"services": "1"}))
    errors = {(row["predictor"], row["requests"]): float(row["mean_error"] or 0) for row in rows}
    assert len(errors) == 8
    assert errors["history", "41-100"] < 0.08 < errors["history", "2-10"]
    assert errors["history", "41-100"] < errors["matrix", "41-100"]


def test_the_matrix_keeps_like_runs_in_a_row() -> None:
    matrix = PerformanceMatrix(0.05)
    assert matrix.predict((10.0,), 2) is None
    matrix.learn((10.0,), 2, 100.0)
    matrix.learn((10.1,), 2, 104.0)  # within five per cent: the same row
    assert matrix.predict((10.0,), 2) == 102.0
    matrix.learn((20.0,), 2, 200.0)
    assert matrix.predict((20.0,), 2) == 200.0


def test_the_matrix_draws_lines_through_what_it_knows() -> None:
    matrix = PerformanceMatrix(0.05)
    for bodies, seconds in ((10.0, 100.0), (20.0, 200.0)):
        matrix.learn((bodies,), 2, seconds)
    halfway = (10.0 * 20.0) ** 0.5  # of the logarithms
    assert matrix.predict((halfway,), 2) == pytest.approx(150.0)
    assert matrix.predict((halfway,), 7) == 100.0  # nothing is known of so many hosts: the nearest row's
