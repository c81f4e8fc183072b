from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.errors import UserError
from cosched.evaluation.clocks.steps import COMPUTE, SEND, Steps, merge_classes, stable_order


def test_steps_taken_apart_are_the_same_steps_with_a_use_each() -> None:
    column = np.array([0, 1, 1])
    kinds = np.array([SEND, COMPUTE, COMPUTE], np.int8)
    steps = Steps.each(kinds, column, 1 - column, np.array([8.0, 3.0, 4.0]), np.array([5, 6, 7], np.int32))
    apart = steps.apart(np.array([9.0, 3.0, 5.0]))
    assert apart.processor is steps.processor
    assert apart.place.tolist() == [5, 6, 7]
    assert apart.amount.tolist() == [9, 3, 5]
    assert apart.shape.origin is steps.shape


def steps(*amounts: float, size: float = 8.0, processors: int = 2) -> Steps:
    """Return one piece of work of each processor and a send by the last."""
    count = len(amounts) + 1
    kind = np.array([COMPUTE] * len(amounts) + [SEND], np.int8)
    owner = np.minimum(np.arange(count), processors - 1)
    return Steps.each(kind, owner, np.zeros(count, np.int64), np.array([*amounts, size]), np.zeros(count, np.int32))


KIND = np.array([0, 1])


def test_each_processor_does_the_work_of_its_own_host() -> None:
    one, other = steps(1, 2), steps(10, 20)
    found = merge_classes([[one, one], [other, other]], KIND)
    assert found[0] is found[1]
    assert found[0].amount.tolist() == [1, 20, 8]


def test_hosts_of_one_kind_keep_their_steps() -> None:
    one = steps(1, 2)
    assert merge_classes([[one]], np.array([0, 0]))[0] is one


@pytest.mark.parametrize("other", [[steps(1, 2, size=9)], [steps(1, 2, processors=3)], [steps(1)], []])
def test_steps_that_depend_on_costs_are_refused(other: list[Steps]) -> None:
    with pytest.raises(UserError, match="who sends what to whom depends on what the work costs"):
        merge_classes([[steps(1, 2)], other], KIND)


@given(st.lists(st.integers(0, 9)), st.sampled_from([10, 1 << 16, 1 << 40]))
def test_equal_keys_stay_in_order(keys: list[int], bound: int) -> None:
    assert stable_order(np.array(keys, np.int64), bound).tolist() == sorted(range(len(keys)), key=keys.__getitem__)


def test_keys_around_the_bound_of_short_integers() -> None:
    assert stable_order(np.array([65_535, 0]), 1 << 16).tolist() == [1, 0]
    assert stable_order(np.array([65_536, 1]), (1 << 16) + 1).tolist() == [1, 0]
