from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.evaluation.budget import Budget
from cosched.evaluation.clocks.clocks import Clocks
from cosched.evaluation.clocks.matching import UnmatchedError
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


STARTS = st.lists(st.integers(0, 400).map(lambda value: value / 8), min_size=5, max_size=5)


@given(programs(), STARTS)
def test_clocks_agree_with_the_simulation(program: tuple[int, list[Use]], start: list[float]) -> None:
    count, uses = program
    expected = simulate(count, uses, start[:count])
    assert plan(count, uses).advance(np.array(start[:count])).tolist() == expected


@given(programs(), STARTS)
def test_a_timeline_has_no_gaps_and_ends_at_the_clocks(program: tuple[int, list[Use]], start: list[float]) -> None:
    count, uses = program
    made = plan(count, uses)
    times, after = made.timeline(np.array(start[:count])), simulate(count, uses, start[:count])
    for index in range(count):
        own = [row for row, owner in enumerate(made.steps.processor.tolist()) if owner == index]
        ends = [start[index], *times.end[own].tolist()]
        assert times.start[own].tolist() == pytest.approx(ends[:-1])
        assert ends[-1] == pytest.approx(after[index])
        assert (times.end[own] - times.ready[own]).tolist() == pytest.approx(made.cost[own].tolist())
    waited = times.ready - times.start
    assert (waited >= 0).all()
    assert (waited[made.steps.kind != RECEIVE] < 1e-9).all()
    # No message is received before it has arrived.
    assert (times.ready[made.receives] >= times.end[made.sends] + made.transfer - 1e-9).all()


@given(programs())
def test_messages_match_first_in_first_out(program: tuple[int, list[Use]]) -> None:
    made = plan(*program)
    pairs = list(zip(made.sends.tolist(), made.receives.tolist(), strict=True))
    ways = [(made.steps.processor[send], made.steps.peer[send]) for send, _ in pairs]
    assert ways == [(made.steps.peer[receive], made.steps.processor[receive]) for _, receive in pairs]
    for way in set(ways):
        own = sorted(pair for pair, other in zip(pairs, ways, strict=True) if other == way)
        assert all(one[1] < other[1] for one, other in pairwise(own))


@given(programs(), st.data())
def test_a_receive_without_its_send_is_refused(program: tuple[int, list[Use]], data: st.DataObject) -> None:
    count, uses = program
    sends = [index for index, use in enumerate(uses) if use.kind == SEND]
    if sends:
        left_out = data.draw(st.sampled_from(sends))
        with pytest.raises(UnmatchedError):
            plan(count, uses[:left_out] + uses[left_out + 1 :])


@given(programs(), st.data())
def test_a_send_that_nobody_receives_is_counted_and_changes_no_other(
    program: tuple[int, list[Use]], data: st.DataObject
) -> None:
    count, uses = program
    who, peer = data.draw(st.integers(0, count - 1)), data.draw(st.integers(0, count - 1))
    longer = [*uses, Use(SEND, who, 0.0, peer, 5.0)]
    made = plan(count, longer)
    assert made.unreceived == 1
    assert made.advance(np.zeros(count)).tolist() == simulate(count, uses, [0.0] * count)


def test_steps_that_wait_for_one_another_are_refused() -> None:
    with pytest.raises(UnmatchedError):
        plan(2, [Use(RECEIVE, 0, 1, 1), Use(SEND, 0, 1, 1), Use(RECEIVE, 1, 1, 0), Use(SEND, 1, 1, 0)])


def test_a_pipeline_by_hand() -> None:
    made = plan(3, [Use(COMPUTE, 0, 5), Use(SEND, 0, 1, 1, 10), Use(RECEIVE, 1, 3, 0), Use(COMPUTE, 1, 7)])
    # Processor 1 is done at 6; the message arrives at 16, is received until 19, worked on until 26. Processor 3 rests.
    assert list(made.advance(np.zeros(3))) == [6, 26, 0]
    # A receiver that is late anyway waits for nothing.
    assert list(made.advance(np.array([0.0, 50.0, 2.0]))) == [6, 60, 2]


def test_a_processor_that_waits_twice_in_a_row_by_hand() -> None:
    made = plan(
        3,
        [
            Use(SEND, 0, 1, 2, 4),
            Use(SEND, 1, 1, 2, 20),
            Use(RECEIVE, 2, 2, 0),
            Use(COMPUTE, 2, 3),
            Use(RECEIVE, 2, 2, 1),
            Use(SEND, 2, 1, 0, 1),
        ],
    )
    # Processor 3 has the first message at 1 + 4 = 5, receives until 7, works until 10, waits until 21, sends at 23.
    times = made.timeline(np.zeros(3))
    assert times.ready.tolist() == [0, 0, 5, 7, 21, 23]
    assert times.end.tolist() == [1, 1, 7, 10, 23, 24]
