"""Values on lanes held against the same expression evaluated lane by lane."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosched.evaluation.budget import LanesDifferError
from cosched.evaluation.interpreter.expressions import Expressions
from cosched.language import ModelError, Source, parse_psl
from cosched.language.syntax import Assign
from tests.evaluation.interpreter.frames import frame

if TYPE_CHECKING:
    from cosched.evaluation.interpreter.frame import Value
    from cosched.language.syntax import Expression

OPERATORS = ["+", "-", "*", "/", "%", "^", "<", ">", "<=", ">=", "==", "!=", "&&", "||"]
FUNCTIONS = ["abs", "ceil", "exp", "floor", "log", "log2", "log10", "sqrt", "-", "!"]
EXPRESSIONS = st.recursive(
    st.sampled_from(["a", "b", "0", "1", "2.5", "7", "-3"]),
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(OPERATORS), inner),
        st.builds("{}({})".format, st.sampled_from(FUNCTIONS), inner),
        st.builds("{}({}, {})".format, st.sampled_from(["max", "min", "mod", "pow"]), inner, inner),
    ),
    max_leaves=6,
)
A = np.array([-2.0, 0.0, 1.5, 3.0])


def parsed(text: str) -> Expression:
    (item,) = parse_psl(Source("x.psl", f"partmp t {{ proc exec init {{ x = {text}; }} }}"))
    (assign,) = item.procedures[0].body
    assert isinstance(assign, Assign)
    return assign.value


COMPILER = Expressions(Source("", ""), {"v": "vector"}, frozenset(), {}, {})
LANES: dict[str, Value] = {"a": A, "b": 4.0, "v": (1.0, 2.0)}


@settings(deadline=None)
@given(EXPRESSIONS)
def test_lanes_have_the_values_that_each_would_have_alone(text: str) -> None:
    compiled = COMPILER.number(parsed(text))
    try:
        expected = [compiled(frame({"a": a, "b": 4.0})) for a in A.tolist()]
    except ModelError:
        expected = [math.nan]
    with np.errstate(all="ignore"):
        try:
            found = compiled(frame(LANES, hosts=[1, 1, 1, 1]))
        except (LanesDifferError, ModelError):
            return  # each lane is evaluated by itself
    assert np.array_equal(np.broadcast_to(found, 4), np.array(expected, np.float64), equal_nan=True)


@pytest.mark.parametrize("text", ["1 / a", "sqrt(a)", "log(a)", "a % 0 ", "v[a]"])
def test_lanes_without_a_finite_number_are_to_be_evaluated_one_by_one(text: str) -> None:
    with np.errstate(all="ignore"), pytest.raises(LanesDifferError):
        COMPILER.number(parsed(text))(frame(LANES, hosts=[1, 1, 1, 1]))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"a" == "b"', [0, 0, 0, 0]),
        ('"a" != a', [1, 1, 1, 1]),
        ("v == a", [0, 0, 0, 0]),
        ("v[1 + (a > 0)]", [1, 1, 2, 2]),
        ("a == 0 || 6 / a > 2", [0, 1, 1, 0]),
        ("a != 0 && 6 / a > 2", [0, 0, 1, 0]),
    ],
)
def test_lanes_compare_pick_elements_and_decide_by_themselves(text: str, expected: list[float]) -> None:
    found = COMPILER.number(parsed(text))(frame(LANES, hosts=[1, 1, 1, 1]))
    assert np.broadcast_to(found, 4).tolist() == expected
