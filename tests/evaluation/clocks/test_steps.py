from __future__ import annotations

import numpy as np

from cosched.evaluation.clocks.steps import COMPUTE, SEND, Steps


def test_steps_taken_apart_are_the_same_steps_with_a_use_each() -> None:
    column = np.array([0, 1, 1])
    kinds = np.array([SEND, COMPUTE, COMPUTE], np.int8)
    steps = Steps.each(kinds, column, 1 - column, np.array([8.0, 3.0, 4.0]), np.array([5, 6, 7], np.int32))
    apart = steps.apart(np.array([9.0, 3.0, 5.0]))
    assert apart.processor is steps.processor
    assert apart.place.tolist() == [5, 6, 7]
    assert apart.amount.tolist() == [9, 3, 5]
    assert apart.shape.origin is steps.shape
