from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.evaluation.collector import Collector
from cosched.evaluation.lanes import TooManyStepsError
from cosched.evaluation.steps import COMPUTE

Tree = list["int | tuple[list[int], Tree]"]
"""Statements: a step of the lanes whose bits are set, or a loop with so many turns of each lane and its statements."""

TREES = st.recursive(
    st.lists(st.integers(0, 255), max_size=3),
    lambda inner: st.lists(
        st.integers(0, 255) | st.tuples(st.lists(st.integers(0, 3), min_size=8, max_size=8), inner), max_size=3
    ),
    max_leaves=6,
)


def collected(collector: Collector, tree: Tree, processors: list[int]) -> None:
    """Add the statements of a tree; each lane works on its own processor, and the place tells the steps apart."""
    for place, item in enumerate(tree):
        if isinstance(item, int):
            lane = np.array([lane for lane in range(len(processors)) if item >> lane % 8 & 1], np.int64)
            at = np.array(processors, np.int64)[lane]
            collector.add(COMPUTE, lane, at, at, lane.astype(np.float64), place)
        else:
            turns = [item[0][lane % 8] for lane in range(len(processors))]
            slot = np.repeat(np.arange(len(processors)), turns)
            inner = collector.inner(len(slot))
            collected(inner, item[1], [processors[lane] for lane in slot])
            collector.nest(inner, slot)


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
            slot = [lane for lane, number in enumerate(turns) for _ in range(number)]
            inner = written_out(item[1], [processors[lane] for lane in slot])
            for turn, lane in enumerate(slot):
                found[lane] += inner[turn]
    return found


@given(TREES)
def test_steps_are_in_the_order_of_lanes_statements_and_turns(tree: Tree) -> None:
    processors = [0, 1, 2]
    collector = Collector(100_000, 3)
    collected(collector, tree, processors)
    steps, expected = collector.steps(3), written_out(tree, processors)
    for processor in processors:
        found = [] if steps is None else steps.place[steps.processor == processor].tolist()
        assert found == expected[processor]


def test_it_is_bounded_with_what_is_nested_in_it() -> None:
    collector = Collector(4, 1)
    lane, nothing = np.zeros(3, np.int64), np.zeros(3)
    collector.add(COMPUTE, lane, lane, lane, nothing, 0)
    with pytest.raises(TooManyStepsError):
        collector.inner(3).add(COMPUTE, np.arange(3), lane, lane, nothing, 0)


def test_no_steps_make_no_segment() -> None:
    assert Collector(10, 2).steps(5) is None
