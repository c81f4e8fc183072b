from __future__ import annotations

import numpy as np
import pytest

from cosched.evaluation.budget import DEEPEST_CALLS
from cosched.evaluation.interpreter.expressions import Expressions
from cosched.evaluation.interpreter.invariance import Written
from cosched.language import ModelError, Source
from cosched.language.syntax import Name, Position
from tests.evaluation.interpreter.frames import frame

BOTH = Written(frozenset(), frozenset({"x", "y"}))


def test_variables_of_a_procedure_hide_those_of_its_object() -> None:
    both = frame({"x": 1.0, "y": 2.0}, {"x": 3.0})
    expressions = Expressions(Source("", ""), {"x": "numeric", "y": "numeric"}, frozenset({"x"}), {}, {})
    assert [expressions.number(Name(Position(1, 1), name))(both) for name in ("x", "y")] == [3.0, 2.0]
    assert both.values["x"] == 1.0


def test_a_number_is_shared_and_an_array_is_picked_from() -> None:
    lanes = frame({"x": 1.0, "y": np.array([5.0, 6.0])}, hosts=[2, 3])
    picked = lanes.pick(np.array([1, 1, 0]))
    assert picked.values["x"] == 1
    assert list(np.asarray(picked.values["y"])) == [6, 6, 5]
    with pytest.raises(KeyError):
        picked.values["z"]


def test_what_some_lanes_assign_is_merged_with_what_the_others_have() -> None:
    lanes = frame({"x": 1.0}, hosts=[2, 3])
    first, second = np.array([0]), np.array([1])
    one, other = lanes.pick(first), lanes.pick(second)
    one.values |= {"x": 4.0, "y": 7.0}
    lanes.merge([(one, first)], BOTH)
    assert list(np.asarray(lanes.values["x"])) == [4, 1]
    assert "y" not in lanes.values
    other.values |= {"x": 4.0, "y": 8.0}
    lanes.merge([(one, first), (other, second)], BOTH)
    assert lanes.values["x"] == 4
    assert list(np.asarray(lanes.values["y"])) == [7, 8]


def test_steps_before_a_call_are_a_segment_of_their_own() -> None:
    run = frame({}, hosts=[2]).run
    run.flush()
    assert run.program == []
    run.lanes.collector.pending += [(0, 0, 0, 3.0, 0), (0, 1, 1, 3.0, 0)]
    run.flush()
    run.lanes.collector.pending.append((0, 0, 0, 5.0, 0))
    run.flush()
    assert [steps.amount.tolist() for steps in run.program] == [[3, 3], [5]]


def test_calls_nest_only_so_deep() -> None:
    run = frame({}).run
    for _ in range(DEEPEST_CALLS):
        run.enter(Source("x.psl", ""), Position(1, 1))
    with pytest.raises(ModelError, match="calls are nested deeper than 40"):
        run.enter(Source("x.psl", ""), Position(1, 1))
