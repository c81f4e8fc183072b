"""Values on lanes held against the same expression compiled and evaluated lane by lane."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosched.evaluation.budget import Budget, UnbatchableError
from cosched.evaluation.interpreter.expressions import evaluate_expression, number
from cosched.evaluation.interpreter.scalar_expressions import Expressions
from cosched.evaluation.interpreter.scalar_frame import ProgramCache, ScalarFrame, ScalarRun
from cosched.language import ModelError, Source, parse_psl
from cosched.language.syntax import Assign

if TYPE_CHECKING:
    from numpy.typing import NDArray

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


def get(name: str) -> float | NDArray[np.float64]:
    return A if name == "a" else 4.0


def parsed(text: str) -> Expression:
    (item,) = parse_psl(Source("x.psl", f"partmp t {{ proc exec init {{ x = {text}; }} }}"))
    (assign,) = item.procedures[0].body
    assert isinstance(assign, Assign)
    return assign.value


def invoke(name: str, arguments: list[float | NDArray[np.float64]]) -> float:
    assert name == "twice"
    return 2 * len(arguments)


@settings(deadline=None)
@given(EXPRESSIONS)
def test_lanes_have_the_values_that_each_would_have_alone(text: str) -> None:
    expression = parsed(text)
    compiled = Expressions(Source("", ""), {}, frozenset(), {}).number(expression)
    run = ScalarRun(ProgramCache(Budget(), 1))
    try:
        expected = [compiled(ScalarFrame({"a": a, "b": 4.0}, {}, run)) for a in A.tolist()]
    except ModelError:
        expected = [math.nan]
    with np.errstate(all="ignore"):
        try:
            found = number(expression, get, invoke)
        except UnbatchableError:
            return  # left to the other evaluator, whatever it says
    assert list(np.broadcast_to(found, 4)) == expected


@pytest.mark.parametrize("text", ["1 / a", "sqrt(a)", "log(a)", "[1, 2]", "a[1]", '"t" + 1'])
def test_what_has_no_finite_number_on_some_lane_is_left_to_the_other_evaluator(text: str) -> None:
    with np.errstate(all="ignore"), pytest.raises(UnbatchableError):
        number(parsed(text), get, invoke)


def test_procedures_are_invoked_and_texts_compared() -> None:
    assert evaluate_expression(parsed("1 + twice(3)"), get, invoke) == 3
    assert evaluate_expression(parsed('"a" == "b"'), get, invoke) == 0
    assert evaluate_expression(parsed('"a" != "b"'), get, invoke) == 1
    with pytest.raises(UnbatchableError):
        number(parsed('"a"'), get, invoke)
