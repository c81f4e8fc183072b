from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.evaluation.budget import Budget
from cosched.evaluation.interpreter.scalar_expressions import BINARY_CLOSURES
from cosched.evaluation.interpreter.scalar_frame import ProgramCache, ScalarFrame, ScalarRun

if TYPE_CHECKING:
    from collections.abc import Callable

FRAME = ScalarFrame({}, {}, ScalarRun(ProgramCache(Budget(), 1)))
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


@pytest.mark.parametrize("name", BINARY_CLOSURES)
@given(NUMBERS, NUMBERS)
def test_operators_mean_what_they_say_and_give_floats(name: str, left: float, right: float) -> None:
    found = BINARY_CLOSURES[name](lambda _: left, lambda _: right)(FRAME)
    expected = float(PYTHON[name](left, right))
    assert type(found) is float
    assert found == expected or math.isnan(expected)


@pytest.mark.parametrize(("name", "left"), [("&&", 0.0), ("||", 3.0)])
def test_what_the_left_side_decides_needs_no_right_side(name: str, left: float) -> None:
    def fails(_: ScalarFrame) -> float:
        raise AssertionError

    assert BINARY_CLOSURES[name](lambda _: left, fails)(FRAME) == (1.0 if left else 0.0)
