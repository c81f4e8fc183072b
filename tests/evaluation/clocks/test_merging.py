from __future__ import annotations

import numpy as np
import pytest

from cosched.errors import UserError
from cosched.evaluation.clocks.steps import COMPUTE, SEND, Steps, merge_classes


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
