from __future__ import annotations

import numpy as np

from cosched.modelling.laws import chosen_law, error_of
from cosched.modelling.points import TimedRun, points_of
from tests.modelling.makers import stencil, stencil_runs


def test_the_true_law_is_chosen() -> None:
    found = chosen_law(points_of(stencil_runs(noise=0.01)))
    assert found.name == "3 terms"
    away = np.array([[2048.0, 1024.0, 20.0]]), np.array([8.0])
    assert abs(found.law.seconds(*away)[0] / stencil(2048, 1024, 8) - 1) < 0.03
    assert error_of(found.off) == found.errors["3 terms"]


def test_a_simple_law_is_not_made_complex() -> None:
    found = chosen_law(points_of(stencil_runs(law=lambda nx, ny, count: 1e-6 * nx * ny / count)))
    assert found.name == "1 term"


def test_a_curve_is_chosen_where_no_sum_of_powers_fits() -> None:
    runs = [
        TimedRun({"n": n}, 1, 1e-4 * n * (1.6 + 0.6 * float(np.tanh(2 * np.log(n / 900)))))
        for n in np.geomspace(30, 30000, 40).round().tolist()
    ]
    found = chosen_law(points_of(runs))
    assert "with a curve" in found.name
    assert found.errors[found.name] < 0.9 * min(error for name, error in found.errors.items() if "curve" not in name)


def test_each_size_is_foretold_by_the_others_alone() -> None:
    """A size that is 3 times as slow is seen to be so."""
    runs = stencil_runs(noise=0.005)
    odd = [TimedRun(run.parameters, run.processors, run.seconds * 3) for run in runs if run.parameters["nx"] == 256]
    points = points_of([run for run in runs if run.parameters["nx"] != 256] + odd[:6])
    found = chosen_law(points)
    off = np.exp(found.off[points.values[:, 0] == 256])
    assert (off > 2).all()
