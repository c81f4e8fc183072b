from __future__ import annotations

import numpy as np

from cosched.evaluation.clocks.steps import COMPUTE, Steps
from cosched.evaluation.interpreter.collector import Collector
from cosched.evaluation.interpreter.lanes import Lanes, as_lanes


def two() -> Lanes:
    """Lanes for 2 and 3 hosts."""
    return Lanes(np.array([2, 3]), np.array([0, 2]), Collector(100, 2))


def test_work_everywhere_and_on_one_processor_of_each_lane() -> None:
    lanes = two()
    lanes.everywhere(np.array([1.0, 2.0]), 0)
    lanes.step(COMPUTE, None, np.array([2, 3]), np.zeros(2, np.int64), np.array([10.0, 20.0]), 0)
    draft = lanes.collector.draft(lanes.hosts)
    assert draft is not None
    steps = Steps(draft.shape, draft.amounts)
    assert list(zip(steps.processor.tolist(), steps.amount.tolist(), strict=True)) == [
        (0, 1),
        (1, 1),
        (1, 10),
        (2, 2),
        (3, 2),
        (4, 2),
        (4, 20),
    ]


def test_spread() -> None:
    assert list(as_lanes(2.0, 3)) == [2, 2, 2]
    assert list(as_lanes(np.array([1.0, 2.0]), 2)) == [1, 2]
