from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.measurement.segments import chosen_points, fitted_lines, flat_steps

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = [0.0, *(float(1 << power) for power in range(22))]


def test_two_lines_are_found_where_they_meet() -> None:
    costs = [2 + 0.001 * size if size <= 4096 else 10 + 0.0005 * size for size in SIZES]
    short, long = fitted_lines(SIZES, costs, costs, 2)
    assert short.upto == 4096
    assert (short.base, short.a_byte, long.base, long.a_byte) == pytest.approx((2, 0.001, 10, 0.0005))


@given(st.lists(st.floats(1e-3, 1e6), min_size=6, max_size=20))
def test_lines_never_fall_and_are_never_less_than_nothing(costs: list[float]) -> None:
    sizes = SIZES[: len(costs)]
    lines = fitted_lines(sizes, costs, costs, 2)
    begin = 0.0
    for line in lines:
        assert line.a_byte >= 0
        assert line.base + line.a_byte * begin >= -1e-6 * max(costs)
        begin = line.upto
    assert begin == sizes[-1]


def test_too_few_points_make_one_line() -> None:
    (line,) = fitted_lines([0.0, 1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 4.0], [1.0] * 4, 2)
    assert (line.base, line.a_byte) == pytest.approx((1.0, 1.0))


def test_steps_of_a_curve_are_found_and_no_more() -> None:
    values = [80.0, 81.0, 79.0, 30.0, 31.0, 30.5, 10.0, 9.9, 10.1]
    assert [end for end, _ in flat_steps(values, 4)] == [3, 6, 9]
    assert [step for _, step in flat_steps(values, 4)] == pytest.approx([80.0, 30.5, 10.0])
    assert len(flat_steps([math.pi] * 8, 4)) == 1


@given(st.lists(st.floats(0.1, 1e4), min_size=3, max_size=40), st.sampled_from((float, math.sqrt)))
def test_few_points_are_close_to_all_or_as_many_as_may_be(costs: list[float], scale: Callable[[float], float]) -> None:
    sizes = [float(k + 1) for k in range(len(costs))]
    chosen = chosen_points(sizes, costs, scale)
    assert (chosen[0], chosen[-1], chosen) == (0, len(costs) - 1, sorted(set(chosen)))
    x = [scale(size) for size in sizes]
    off = np.abs(np.interp(x, [x[k] for k in chosen], [costs[k] for k in chosen]) / costs - 1)
    assert off.max() <= 0.03 or len(chosen) == min(16, len(costs))


def test_a_line_needs_its_ends_alone() -> None:
    assert chosen_points([1, 2, 3, 4], [2.0, 4.0, 6.0, 8.0], float) == [0, 3]
