from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.evaluation.layout import factors


@pytest.mark.parametrize(
    ("count", "sides", "expected"),
    [(1, 2, (1, 1)), (12, 2, (4, 3)), (13, 2, (13, 1)), (16, 2, (4, 4)), (24, 3, (4, 3, 2)), (7, 1, (7,))],
)
def test_most_nearly_equal(count: int, sides: int, expected: tuple[int, ...]) -> None:
    assert factors(count, sides) == expected


@given(st.integers(1, 2000), st.integers(1, 3))
def test_the_product_is_the_count_and_the_largest_comes_first(count: int, sides: int) -> None:
    found = factors(count, sides)
    assert math.prod(found) == count
    assert list(found) == sorted(found, reverse=True)
