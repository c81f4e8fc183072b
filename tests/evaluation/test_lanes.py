from __future__ import annotations

import numpy as np
import pytest

from cosched.evaluation.lanes import Collector, Lanes, TooManyStepsError, UnbatchableError, spread
from cosched.evaluation.steps import COMPUTE, RECEIVE, SEND


def two(most: int = 100) -> Lanes:
    """Lanes for 2 and 3 hosts."""
    return Lanes(np.array([2, 3]), np.array([0, 2]), Collector(most))


def clocks(lanes: Lanes) -> list[float]:
    plan = lanes.collector.plan(5)
    assert plan is not None
    return list(plan.advance(np.zeros(5)))


def test_a_number_is_shared_and_an_array_is_picked_from() -> None:
    lanes = two()
    lanes.values |= {"a": 1.0, "b": np.array([5.0, 6.0])}
    picked = lanes.pick(np.array([1, 1, 0]))
    assert picked.get("a") == 1
    assert list(np.asarray(picked.get("b"))) == [6, 6, 5]
    assert picked.look("c") is None
    with pytest.raises(UnbatchableError):
        picked.get("c")


def test_work_everywhere_and_on_one_processor_of_each_lane() -> None:
    lanes = two()
    lanes.everywhere(np.array([1.0, 2.0]))
    every, zero = np.arange(2), np.zeros(2)
    lanes.step(COMPUTE, every, np.array([2.0, 3.0]), zero, np.array([10.0, 20.0]), zero)
    assert clocks(lanes) == [1, 11, 2, 2, 22]


def test_steps_of_a_loop_stay_in_the_order_of_their_turns() -> None:
    lanes = two()
    inner = Collector(100)
    turns = lanes.pick(np.array([1, 1]), inner)
    # Each turn on 3 hosts: processor 1 receives what 2 sent. Written as all sends after all receives they would match
    # as well, but processor 2 works 5 us between its sends.
    first, second, zero = np.full(2, 1.0), np.full(2, 2.0), np.zeros(2)
    every = np.arange(2)
    turns.step(SEND, every, second, first, zero, zero)
    turns.step(RECEIVE, every, first, second, np.full(2, 1.0), zero)
    turns.step(COMPUTE, every, second, second, np.full(2, 5.0), zero)
    lanes.collector.nest(inner, np.arange(2), 2, lanes.slots(np.array([1, 1])))
    # Messages at 0 and 5; received until 1 and 6.
    assert clocks(lanes) == [0, 0, 6, 10, 0]


def test_a_collector_is_bounded_and_refuses_what_does_not_match() -> None:
    with pytest.raises(TooManyStepsError):
        two(most=4).everywhere(np.array([1.0, 1.0]))
    lanes = two()
    lanes.step(SEND, np.arange(2), np.ones(2), np.full(2, 2.0), np.zeros(2), np.zeros(2))
    with pytest.raises(UnbatchableError):
        lanes.collector.plan(5)


def test_no_steps_make_no_plan() -> None:
    assert Collector(10).plan(5) is None


def test_spread() -> None:
    assert list(spread(2.0, 3)) == [2, 2, 2]
    assert list(spread(np.array([1.0, 2.0]), 2)) == [1, 2]
