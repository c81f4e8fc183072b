"""The max-plus plan held against a discrete-event simulation."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.evaluation.clocks.matching import UnmatchedError
from tests.evaluation.makers import plan, programs
from tests.evaluation.oracle import COMPUTE, RECEIVE, SEND, Use, simulate

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
