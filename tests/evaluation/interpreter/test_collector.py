from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.evaluation.budget import TooManyStepsError
from cosched.evaluation.clocks.steps import COMPUTE, RECEIVE, SEND, Steps
from cosched.evaluation.interpreter.collector import Collector

Tree = list["int | tuple[list[int], Tree, bool]"]
"""Statements: a step of the lanes whose bits are set, or a loop with so many turns of each lane, its statements, and
whether the turns go as one that is repeated."""

TREES = st.recursive(
    st.lists(st.integers(0, 255), max_size=3),
    lambda inner: st.lists(
        st.integers(0, 255) | st.tuples(st.lists(st.integers(0, 3), min_size=8, max_size=8), inner, st.booleans()),
        max_size=3,
    ),
    max_leaves=6,
)


def collected(collector: Collector, tree: Tree, processors: list[int]) -> None:
    """Add the statements of a tree; each lane works on its own processor, and the place tells the steps apart.

    Amounts in odd places are free, those in the others are the number of the processor.
    """
    for place, item in enumerate(tree):
        if isinstance(item, int):
            lane = np.array([lane for lane in range(len(processors)) if item >> lane % 8 & 1], np.int64)
            at = np.array(processors, np.int64)[lane]
            collector.add(COMPUTE, lane, at, at, None if place % 2 else at.astype(np.float64), place)
        else:
            turns = np.array([item[0][lane % 8] for lane in range(len(processors))], np.int64)
            times = turns[turns > 0] if item[2] else None
            slot = np.repeat(np.arange(len(processors)), np.minimum(turns, 1) if item[2] else turns)
            inner = collector.inner(len(slot))
            collected(inner, item[1], [processors[lane] for lane in slot])
            collector.nest(inner, slot, times)


def written_out(tree: Tree, processors: list[int]) -> dict[int, list[int]]:
    """Return the places of each lane's steps, one lane after another."""
    found: dict[int, list[int]] = defaultdict(list)
    for place, item in enumerate(tree):
        if isinstance(item, int):
            for lane in range(len(processors)):
                if item >> lane % 8 & 1:
                    found[lane].append(place)
        else:
            turns = [item[0][lane % 8] for lane in range(len(processors))]
            slot = [lane for lane, number in enumerate(turns) for _ in range(min(number, 1) if item[2] else number)]
            inner = written_out(item[1], [processors[lane] for lane in slot])
            for turn, lane in enumerate(slot):
                found[lane] += inner[turn] * (turns[lane] if item[2] else 1)
    return found


@given(TREES)
def test_steps_are_in_the_order_of_lanes_statements_and_turns(tree: Tree) -> None:
    processors = [0, 1, 2]
    collector = Collector(100_000, 3)
    collected(collector, tree, processors)
    draft, expected = collector.draft(np.ones(3, np.int64)), written_out(tree, processors)
    for processor in processors:
        if draft is None:
            assert not expected[processor]
            continue
        steps = Steps(draft.shape, draft.amounts)
        own = steps.processor == processor
        assert steps.place[own].tolist() == expected[processor]
        assert (steps.amount[own] == np.where(steps.place[own] % 2, 0, processor)).all()
    for place, lanes in () if draft is None else draft.deferred:
        assert lanes.tolist() == [lane for lane in processors if place in expected[lane]]


def test_steps_with_a_free_amount_share_a_use_on_each_number_of_hosts() -> None:
    collector = Collector(100, 2)
    lane, at, place = np.array([0, 0, 1]), np.array([0, 1, 3]), 4
    collector.add(COMPUTE, np.arange(2), np.array([0, 2]), np.array([0, 2]), np.array([5.0, 6.0]), 3)
    collector.add(COMPUTE, lane, at, at, None, place)
    draft = collector.draft(np.array([2, 2]))
    assert draft is not None
    assert [(place, lanes.tolist()) for place, lanes in draft.deferred] == [(4, [0, 1])]
    filled = Steps(draft.shape, draft.amounts + np.array([7, 8, 0, 0]))
    assert filled.processor.tolist() == [0, 0, 1, 2, 3]
    assert filled.amount.tolist() == [5, 7, 7, 6, 8]
    assert filled.place.tolist() == [3, 4, 4, 3, 4]


def test_it_is_bounded_with_what_is_nested_in_it() -> None:
    collector = Collector(4, 1)
    lane, nothing = np.zeros(3, np.int64), np.zeros(3)
    collector.add(COMPUTE, lane, lane, lane, nothing, 0)
    with pytest.raises(TooManyStepsError):
        collector.inner(3).add(COMPUTE, np.arange(3), lane, lane, nothing, 0)


def test_turns_that_are_repeated_count() -> None:
    lane = np.zeros(1, np.int64)
    for turns, most in ((4, 4), (5, 4)):
        collector = Collector(most, 1)
        inner = collector.inner(1)
        inner.add(COMPUTE, lane, lane, lane, np.zeros(1), 0)
        if turns > most:
            with pytest.raises(TooManyStepsError):
                collector.nest(inner, lane, np.array([turns]))
        else:
            collector.nest(inner, lane, np.array([turns]))


def test_steps_added_one_by_one_keep_the_order_of_their_processor() -> None:
    collector, one = Collector(100, 1), np.zeros(1, np.int64)
    collector.pending += [(SEND, 1, 0, 8.0, 5), (COMPUTE, 0, 0, 3.0, 6), (COMPUTE, 1, 1, 3.0, 6)]
    collector.add(COMPUTE, one, one, one, np.array([4.0]), 7)
    collector.pending.append((RECEIVE, 0, 1, 8.0, 8))
    draft = collector.draft(np.array([2]))
    assert draft is not None
    steps = Steps(draft.shape, draft.amounts)
    assert steps.processor.tolist() == [0, 0, 0, 1, 1]
    assert steps.kind.tolist() == [COMPUTE, COMPUTE, RECEIVE, SEND, COMPUTE]
    assert steps.peer.tolist() == [0, 0, 1, 0, 1]
    assert steps.amount.tolist() == [3, 4, 8, 8, 3]
    assert steps.place.tolist() == [6, 7, 8, 5, 6]


def test_no_steps_make_no_segment() -> None:
    assert Collector(10, 2).draft(np.array([2, 3])) is None
