from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.evaluation.costs import LinearCost, PiecewiseCost, described_memory

SIZES = st.lists(st.integers(0, 1 << 30), min_size=2, max_size=8, unique=True).map(sorted)
COSTS = st.floats(0.01, 1e6)


@given(SIZES, st.data())
def test_a_cost_goes_through_its_points_and_is_level_before_them(sizes: list[int], data: st.DataObject) -> None:
    costs = [data.draw(COSTS) for _ in sizes]
    found = PiecewiseCost.through(list(zip(map(float, sizes), costs, strict=True)))
    assert [found(size) for size in sizes] == pytest.approx(costs, rel=1e-6, abs=1e-6)
    assert found(sizes[0] / 2) == costs[0]
    assert found(2 * sizes[-1]) >= 0
    several = np.array([*sizes, sizes[0] / 3, (sizes[0] + sizes[1]) / 2, 3 * sizes[-1]], np.float64)
    assert found.times(several).tolist() == [found(size) for size in several]


def test_parts_of_a_cost_are_shares_of_every_size() -> None:
    whole = PiecewiseCost.through([(0, 1.0), (100, 2.0), (200, 5.0)])
    part = whole.part(0.25)
    assert [part(size) for size in (0, 50, 150, 300)] == [whole(size) / 4 for size in (0, 50, 150, 300)]
    assert whole.latency(np.array([0.0, 100.0, 300.0])).tolist() == [1, 1, 1]


def test_two_points_are_a_line() -> None:
    line, points = LinearCost(1e9, 3, 0.5, 3, 0.5), PiecewiseCost.through([(0, 3.0), (10, 8.0)])
    sizes = np.array([0.0, 4.0, 10.0, 1000.0])
    assert points.times(sizes).tolist() == line.times(sizes).tolist()


def test_a_curve_of_memory_is_linear_in_the_logarithm_of_the_size() -> None:
    memory = described_memory({}, ((1024.0, 100.0), (4096.0, 50.0), (1 << 20, 10.0)))
    assert [100 / float(memory.time(100, size)) for size in (0, 1024, 2048, 4096, 1 << 30)] == pytest.approx(
        [100, 100, 75, 50, 10]
    )
    sets = np.array([0.0, 5.0, 2048.0, 5000.0, 1e12])
    assert np.asarray(memory.time(64.0, sets)).tolist() == [memory.time(64.0, size) for size in sets]


def test_a_curve_decides_beside_levels() -> None:
    levels: dict[str, float | str] = {"L1_size": 32.0, "L1_bandwidth": 8.0, "bandwidth": 2.0}
    memory = described_memory(levels, ((16.0, 4.0), (64.0, 1.0)))
    assert (memory.sizes, memory.parts) == ((32.0,), ("curve",))
    assert memory.time(8, 16) == 2
    assert described_memory(levels).parts == ("L1", "main")
