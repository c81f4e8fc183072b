"""Operators of expressions against Python's, on numbers."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.evaluation.interpreter.expressions import Expressions
from cosched.language import Source
from cosched.language.syntax import Binary, Name, Position
from tests.evaluation.interpreter.frames import frame

if TYPE_CHECKING:
    from collections.abc import Callable

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
