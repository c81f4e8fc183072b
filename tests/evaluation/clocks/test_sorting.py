from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cosched.evaluation.clocks.steps import stable_order


@given(st.lists(st.integers(0, 9)), st.sampled_from([10, 1 << 16, 1 << 40]))
def test_equal_keys_stay_in_order(keys: list[int], bound: int) -> None:
    assert stable_order(np.array(keys, np.int64), bound).tolist() == sorted(range(len(keys)), key=keys.__getitem__)


def test_keys_around_the_bound_of_short_integers() -> None:
    assert stable_order(np.array([65_535, 0]), 1 << 16).tolist() == [1, 0]
    assert stable_order(np.array([65_536, 1]), (1 << 16) + 1).tolist() == [1, 0]
