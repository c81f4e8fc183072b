from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosched.evaluation.budget import LanesDifferError
from cosched.evaluation.interpreter.expressions import Expressions
from cosched.language import ModelError, Source, parse_psl
from cosched.language.syntax import Assign, Binary, Name, Position
from tests.evaluation.interpreter.frames import frame

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.evaluation.interpreter.frame import Value
    from cosched.language.syntax import Expression

VALUES: dict[str, Value] = {"x": 3.0, "text": "t", "list": (4.0, 5.0), "one": 7.0}
TYPES = {"x": "numeric", "text": "string", "list": "vector", "one": "vector", "own": "numeric"}


def value(text: str) -> Value:
    source = Source("x.psl", f"partmp t {{ proc exec init {{ r = {text}; }} }}")
    (assign,) = parse_psl(source)[0].procedures[0].body
    assert isinstance(assign, Assign)
    procedures = {"half": lambda _frame, arguments, _at: arguments[0] / 2}
    compiled = Expressions(source, TYPES, frozenset({"own"}), procedures, {}).value(assign.value)
    return compiled(frame(VALUES, {"own": 9.0}))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * x ^ 2", 19),
        ("-x % 4", 1),
        ("!x + !0", 1),
        ("x > 2 && x <= 3 || 1 / 0", 1),
        ("own + half(x)", 10.5),
        ("list[2] - list[1]", 1),
        ("one + one[1]", 14),
        ('text == "t"', 1),
        ('text != "t"', 0),
        ("[x, 2 * x]", (3, 6)),
        ("text", "t"),
        ("max(1, x, 2) + ceil(1.2) + mod(7, 4)", 8),
    ],
)
def test_values(text: str, expected: Value) -> None:
    assert value(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x / 0", "division by zero"),
        ("mod(x, 0)", "mod: division by zero"),
        ("(0 - 1) ^ 0.5", r"-1 \^ 0.5 has no finite value"),
        ("sqrt(0 - x)", r"sqrt\(-3\) has no finite value"),
        ("missing", "variable missing has no value"),
        ("list + 1", r"vector list is a list here: pick an element, list\[1\]"),
        ("list[3]", "list has elements 1 to 2, not 3"),
        ("list[1.5]", "list has elements 1 to 2, not 1.5"),
    ],
)
def test_faults_have_a_place(text: str, message: str) -> None:
    with pytest.raises(ModelError, match=rf"x\.psl:1:\d+: {message}"):
        value(text)


AT = Position(1, 1)
NUMBERS = st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.5, 1e300]) | st.floats(allow_nan=False, allow_infinity=False)
PYTHON: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
    "&&": lambda a, b: bool(a) and bool(b),
    "||": lambda a, b: bool(a) or bool(b),
}


@pytest.mark.parametrize("name", PYTHON)
@given(NUMBERS, NUMBERS)
def test_operators_mean_what_they_say_and_give_floats(name: str, left: float, right: float) -> None:
    compiled = Expressions(Source("", ""), {}, frozenset(), {}, {}).number(
        Binary(AT, name, Name(AT, "a"), Name(AT, "b"))
    )
    found = compiled(frame({"a": left, "b": right}))
    expected = float(PYTHON[name](left, right))
    assert type(found) is float
    assert found == expected or math.isnan(expected)


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
