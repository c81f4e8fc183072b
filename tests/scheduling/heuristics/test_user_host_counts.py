from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling.heuristics.batch_queue import arbitrary_count, maximum_count
from cosched.scheduling.policies import POLICIES, UserCountPolicy
from cosched.scheduling.policies.batch import FcfsCalculated

USERS = [policy for policy in POLICIES.values() if isinstance(policy, UserCountPolicy)]
CPI = np.array([32, 26, 21, 17, 14, 11, 9, 7, 5, 4, 3, 2, 4, 7, 12, 20], dtype=np.float64)


def test_calculated_wastes_least_and_maximum_takes_what_there_is() -> None:
    assert FcfsCalculated().host_count(CPI, "") == 12  # 12 × 2 s = 24 host-seconds; one host takes 32
    assert maximum_count(CPI) == 16


def test_calculated_prefers_the_faster_of_two_that_waste_alike() -> None:
    assert FcfsCalculated().host_count(np.array([8.0, 4.0, 9.0]), "") == 2


def test_arbitrary_is_the_same_for_the_same_seed_and_spread_over_all_counts() -> None:
    drawn = [arbitrary_count(CPI, f"7/{task}") for task in range(400)]
    assert drawn == [arbitrary_count(CPI, f"7/{task}") for task in range(400)]
    assert set(drawn) == set(range(1, 17))


@pytest.mark.parametrize("policy", USERS, ids=lambda policy: policy.name)
@given(st.lists(st.sampled_from([1.0, 2.0, 5.0, math.inf]), min_size=1, max_size=6).filter(lambda row: min(row) < 9))
def test_a_count_that_cannot_be_used_is_never_chosen(policy: UserCountPolicy, row: list[float]) -> None:
    assert math.isfinite(row[policy.host_count(np.array(row), "seed") - 1])
