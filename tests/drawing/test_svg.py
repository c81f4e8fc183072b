from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.drawing.svg import ticks


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (0, 10, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
        (0, 11, [0, 2, 4, 6, 8, 10]),
        (1, 16, [2, 4, 6, 8, 10, 12, 14, 16]),
        (-0.5, 0.5, [-0.5, -0.4, -0.3, -0.2, -0.1, 0, 0.1, 0.2, 0.3, 0.4, 0.5]),
    ],
)
def test_ticks_are_round(first: float, last: float, expected: list[float]) -> None:
    assert ticks(first, last) == pytest.approx(expected)


@given(st.floats(-1e9, 1e9), st.floats(1e-3, 1e9), st.integers(2, 20))
def test_there_are_a_few_of_them_and_none_lies_outside(first: float, span: float, most: int) -> None:
    found = ticks(first, first + span, most)
    assert most / 10 - 1 <= len(found) <= most + 1
    assert all(first - 1e-6 * span <= value <= first + span * (1 + 1e-6) for value in found)
