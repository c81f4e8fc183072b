from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cosched.modelling.nnls import nnls

NUMBERS = st.floats(-100, 100, allow_subnormal=False).map(lambda value: round(value, 3))


@given(st.data(), st.integers(1, 12), st.integers(1, 6))
def test_no_other_costs_are_better(data: st.DataObject, rows: int, count: int) -> None:
    """The conditions of Karush, Kuhn and Tucker hold: a slope is 0 where a coefficient is above 0, else not above 0."""
    columns = data.draw(arrays(float, (rows, count), elements=NUMBERS))
    wanted = data.draw(arrays(float, rows, elements=NUMBERS))
    found = nnls(columns, wanted)
    slope = columns.T @ (wanted - columns @ found)
    scale = 1e-6 * (1 + np.abs(columns).max() * (1 + np.abs(wanted).max())) * rows
    assert (found >= 0).all()
    assert (slope <= scale).all()
    assert (np.abs(slope[found > 0]) <= scale).all()


def test_true_costs_are_found() -> None:
    drawn = np.random.default_rng(3)
    columns = drawn.uniform(0, 1, (30, 4))
    assert np.allclose(nnls(columns, columns @ [1.0, 0.0, 2.5, 0.0]), [1.0, 0.0, 2.5, 0.0])


def test_a_column_of_zeros_gets_none() -> None:
    assert nnls(np.array([[0.0, 2.0], [0.0, 4.0]]), np.array([1.0, 2.0])).tolist() == [0.0, 0.5]
