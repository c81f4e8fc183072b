from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.evaluation.hardware import Memory, described_memory

MEMORY = Memory(("L1", "L3", "main"), (100.0, 1000.0), (0.5, 1.0, 4.0))


@pytest.mark.parametrize(
    ("working_set", "time"), [(0, 5), (100, 5), (100.5, 10), (1000, 10), (1001, 40), (float("inf"), 40)]
)
def test_the_smallest_level_that_holds_the_working_set_counts(working_set: float, time: float) -> None:
    assert MEMORY.time(10, working_set) == time


@given(st.lists(st.tuples(st.floats(0, 1e9), st.floats(0, 2000)), min_size=1))
def test_arrays_have_the_times_of_their_numbers(uses: list[tuple[float, float]]) -> None:
    volume, working_set = np.array(uses).T
    expected = [MEMORY.time(*use) for use in uses]
    found = MEMORY.time(volume, working_set)
    assert isinstance(found, np.ndarray)
    assert found.tolist() == expected
    assert np.asarray(MEMORY.time(volume[0], working_set)).tolist()[0] == expected[0]
    assert np.asarray(MEMORY.time(volume, float(working_set[0]))).tolist()[0] == expected[0]


def test_main_memory_alone() -> None:
    memory = described_memory({"bandwidth": 4.0})
    assert memory == Memory(("main",), (), (0.25,))
    assert memory.time(8, 1e12) == 2
    assert np.asarray(memory.time(8.0, np.array([0.0, 1e12]))).tolist() == [2, 2]


def test_levels_may_be_left_out() -> None:
    settings = {"L3_bandwidth": 2.0, "bandwidth": 1.0, "L1_size": 8.0, "L1_bandwidth": 4.0, "L3_size": 64.0}
    assert described_memory(settings) == Memory(("L1", "L3", "main"), (8, 64), (0.25, 0.5, 1))


def test_one_level_costs_more() -> None:
    assert MEMORY.costlier("L3", 2) == Memory(("L1", "L3", "main"), (100, 1000), (0.5, 2, 4))
    assert MEMORY.costlier("L2", 2) == MEMORY
