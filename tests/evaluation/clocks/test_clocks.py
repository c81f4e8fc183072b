from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.evaluation.budget import Budget
from cosched.evaluation.clocks.clocks import Clocks
from cosched.language import ModelError
from tests.evaluation.makers import PLACES, plan, programs
from tests.evaluation.oracle import COMPUTE, RECEIVE, SEND, Use, simulate

if TYPE_CHECKING:
    from cosched.evaluation.clocks.clocks import TimedSegment


def course(hosts: list[int], steps: int = 10_000, *, remember: bool = False) -> Clocks:
    return Clocks(np.array(hosts), Budget(steps), PLACES, remember=remember)


def message() -> TimedSegment:
    """Processor 1 works 4 us, sends for 1 us; 10 us later processor 2 receives for 2 us."""
    return plan(2, [Use(COMPUTE, 0, 4), Use(SEND, 0, 1, 1, 10), Use(RECEIVE, 1, 2, 0)])


@given(programs(), st.integers(1, 5))
def test_turns_agree_with_the_simulation(program: tuple[int, list[Use]], turns: int) -> None:
    count, uses = program
    made, clocks, expected = plan(count, uses), course([count]), [0.0] * count
    for _ in range(turns):
        clocks.go(made)
        expected = simulate(count, uses, expected)
    assert (clocks.lapse[0] + clocks.ahead).tolist() == pytest.approx(expected, abs=1e-5)
    assert clocks.latest.tolist() == pytest.approx([max(expected)], abs=1e-5)


def test_what_was_seen_before_is_not_carried_out_again() -> None:
    clocks, made = course([2], remember=True), message()
    for _ in range(4):
        clocks.go(made)
    # Sent at 5, 10, 15, 20; received until 17, 22, 27, 32. From the second turn on processor 2 is 12 us behind.
    assert clocks.latest.tolist() == [32]
    assert [passage.lapse[0] for passage in clocks.passages] == [0, 5, 10, 15]
    assert [passage.ahead.tolist() for passage in clocks.passages] == [[0, 0], [0, 12], [0, 12], [0, 12]]


def test_numbers_of_hosts_go_side_by_side_each_with_its_own_lapse() -> None:
    clocks = course([1, 2])
    clocks.go(plan(3, [Use(COMPUTE, 0, 4), Use(COMPUTE, 1, 7), Use(COMPUTE, 2, 9)]))
    assert clocks.lapse.tolist() == [4, 7]
    assert clocks.latest.tolist() == [4, 9]


def test_states_that_never_repeat_are_forgotten_and_the_clocks_stay_right() -> None:
    clocks = course([2])
    for turn in range(300):
        clocks.go(plan(2, [Use(COMPUTE, 0, turn), Use(COMPUTE, 1, 1)]))
    assert clocks.latest.tolist() == [sum(range(300))]


def test_what_is_carried_out_comes_off_the_budget() -> None:
    clocks = course([2], steps=1)
    clocks.go(plan(2, [Use(COMPUTE, 0, 1)] * 6))
    clocks.go(message())
    with pytest.raises(ModelError, match=r"steps.psl:1:1: stopped here after 1 steps"):
        clocks.go(plan(2, [Use(COMPUTE, 0, 1)] * 20))
