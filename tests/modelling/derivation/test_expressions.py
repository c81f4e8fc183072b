from __future__ import annotations

import math
from contextlib import suppress
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.modelling.derivation.expressions import evaluate, source_bounds

_C = """
#include <stdlib.h>
#define BLOCK 64
#define HALF (BLOCK / 2)
int main(int argc, char **argv) {
  int rows = atoi(argv[1]), columns = strtol(argv[2], 0, 10);
  int lx = rows + 2, quarter = columns / 4;
  int tail = lx % 8;
  for (int i = 0; i < lx - 1; i++) { }
  for (int b = 0; b < (rows + BLOCK - 1) / BLOCK; b++) { }
}
"""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("nx * ny - 2", 33),
        ("floor(nx / 2) + ceil(ny / 2)", 6),
        ("nx ^ 2 / 2", Fraction(49, 2)),
        ("nx % 4", 3),
        ("log2(8)", 3),
        ("min(nx, ny) + max(nx, 1)", 12),
        ("-nx", -7),
    ],
)
def test_expressions_are_evaluated_exactly(text: str, value: Fraction | int) -> None:
    found = evaluate(text, {"nx": 7, "ny": 5})
    assert found == value
    assert isinstance(found, Fraction)


def test_a_logarithm_of_no_power_of_two_is_a_float() -> None:
    assert evaluate("log2(nx)", {"nx": 7}) == pytest.approx(math.log2(7))


@pytest.mark.parametrize(
    "text", ["nz", "1 / 0", "log2(0)", "nx ^ 99", "nx(3)", "open(1)", "'a'", "nx if nx else 1", "9 ^ 6 ^ 6", "(", ""]
)
def test_what_is_no_arithmetic_has_no_value(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        evaluate(text, {"nx": 7})


@given(st.text(alphabet="nx0123456789+-*/%^() flooreilg2min,", max_size=40))
def test_any_text_has_a_value_or_none(text: str) -> None:
    with suppress(ValueError):
        assert isinstance(evaluate(text, {"nx": 7, "n": 3}), Fraction | float)


def test_bounds_are_what_a_source_computes_of_its_arguments() -> None:
    bounds = source_bounds(_C, ["n", "m"])
    assert {"n + 2", "floor(m / 4)", "(n + 2) - 1", "(n + 2) % 8"} <= set(bounds)
    assert "floor(((n + 64) - 1) / 64)" in bounds
    assert {"floor(n / 64)", "ceil(n / 64)", "floor(m / 4)"} <= set(bounds)


def test_bounds_of_fortran_and_python() -> None:
    assert "n - 1" in source_bounds("      do i = 2, n - 1\n", ["n"])
    assert {"n - k", "floor(n / 2)"} <= set(source_bounds("for i in range(1, n - k):\n    half = n // 2\n", ["n", "k"]))


@given(st.text(max_size=200))
def test_bounds_of_any_text_have_values(text: str) -> None:
    for bound in source_bounds(text + "\nfor (i = 0; i < n / 3 + m; i++)", ["n", "m"]):
        try:
            evaluate(bound, {"n": 30, "m": 7})
        except ValueError:
            assert "/ " in bound or "% " in bound or len(bound) > 10
