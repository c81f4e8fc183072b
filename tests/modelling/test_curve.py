from __future__ import annotations

import numpy as np
import pytest

from cosched.modelling.curve import MOST_KNOTS, CorrectionCurve, correction_curve


def test_a_curve_mends_a_formula() -> None:
    stated = np.geomspace(1e-3, 10, 40)
    truth = stated * np.exp(0.4 * np.tanh(np.log(stated)))
    curve = correction_curve(stated, truth * np.exp(np.random.default_rng(5).normal(0, 0.01, 40)))
    assert curve is not None
    assert len(curve.knots) <= MOST_KNOTS
    assert np.abs(np.log(stated * curve.at(stated) / truth)).max() < 0.05
    assert np.allclose(curve.at(np.array([1e-9, 1e-3])), curve.at(np.array([1e-3]))[0], rtol=1e-6)


def test_few_times_make_no_curve() -> None:
    assert correction_curve(np.array([1.0, 2.0, 2.0, 1.0]), np.ones(4)) is None


def test_a_curve_goes_on_below_a_millionth_of_a_microsecond() -> None:
    """It was level there, unlike the model in PSL that was written of it."""
    curve = CorrectionCurve((-16.0, -14.0), 0.0, (1.0, -1.0))
    assert np.log(curve.at(np.exp([-17.0, -15.0, -13.0]) / 1e6)).tolist() == pytest.approx([0.0, 1.0, 2.0])
