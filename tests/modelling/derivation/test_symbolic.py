from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosched.modelling.derivation.expressions import evaluate
from cosched.modelling.derivation.sizes import draw_sizes, parse_sizes
from cosched.modelling.derivation.symbolic import Solver
from tests.exploring import examples

if TYPE_CHECKING:
    from collections.abc import Sequence

_PARAMETERS = parse_sizes("nx=16..48 ny=16..48 steps=2..30")
_SIZES = draw_sizes(_PARAMETERS, 16)
_UNSEEN = draw_sizes(parse_sizes("nx=16..400 ny=16..400 steps=2..60"), 40, seed=7)
_BOUNDS = ("nx + 2", "floor(steps / 4)")
_SOLVER = Solver(_SIZES, _BOUNDS)


def counted(text: str) -> list[int]:
    return [int(evaluate(text, size)) for size in _SIZES]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("5", 1),
        ("nx", 1),
        ("nx * ny * steps", 1),
        ("(nx + 2) * (ny + 2)", 1),
        ("(nx - 1) * (ny - 1) * (steps + 1) + 3", 2),
        ("nx * ny * steps + 7 * nx + 3 * steps + 1", 4),
        ("nx * (nx - 1) / 2 * steps", 2),
        ("nx * (nx + 1) * (2 * nx + 1) / 6", 3),
        ("nx * ny * floor(steps / 4) + nx", 2),
        ("floor(nx / ny) * steps + 3", 2),
        ("ny * ceil(log2(nx))", 1),
        ("2 * (nx + ny) * steps + 4", 3),
    ],
)
def test_counts_of_loops_are_solved(text: str, terms: int) -> None:
    found = _SOLVER.solve(counted(text))
    assert found.exact
    assert len(found.terms) <= terms
    for size in _UNSEEN:
        assert found.value(size) == evaluate(text, size) == evaluate(found.text(), size)


def test_counts_that_never_happen_are_nothing() -> None:
    assert _SOLVER.solve([0] * len(_SIZES)).text() == "0"


def test_sizes_that_are_powers_of_two_show_logarithms() -> None:
    sizes = draw_sizes(parse_sizes("n=4..4096:*2 m=3..20"), 12)
    found = Solver(sizes).solve([size["n"] * (size["n"].bit_length() - 1) * size["m"] // 2 for size in sizes])
    assert found.exact
    assert found.text() == "n * m * log2(n) / 2"


_TERMS = st.lists(
    st.tuples(
        st.integers(1, 9),
        st.sampled_from([1, 2]),
        st.lists(st.sampled_from(["nx", "ny", "steps", "nx + 2", "ny - 1"]), max_size=3, unique=True),
        st.sampled_from(["", "", "floor(steps / 4)", "floor(nx / ny)", "ceil(log2(ny))"]),
    ),
    min_size=1,
    max_size=3,
)


@settings(max_examples=examples(8))
@given(_TERMS)
def test_what_is_accepted_is_exact_at_sizes_never_seen(
    terms: Sequence[tuple[int, int, Sequence[str], str]],
) -> None:
    parts = [
        " * ".join([str(2 * number // divisor), *(f"({factor})" for factor in factors), *([atom] if atom else [])])
        for number, divisor, factors, atom in terms
    ]
    text = " + ".join(parts)
    found = _SOLVER.solve(counted(text))
    if found.exact:
        for size in _UNSEEN:
            assert found.value(size) == evaluate(text, size), (text, found.text())
    else:
        assert found.error > 0


@settings(max_examples=examples(3))
@given(st.lists(st.integers(0, 10**6), min_size=len(_SIZES), max_size=len(_SIZES), unique=True))
def test_counts_without_a_law_are_not_accepted(counts: list[int]) -> None:
    found = _SOLVER.solve(counts)
    assert not found.exact
    assert found.error > 0


def test_counts_that_depend_on_data_are_approximated() -> None:
    counts = [round(size["nx"] * math.log2(size["nx"]) * 1.37 + size["nx"] % 3) for size in _SIZES]
    found = _SOLVER.solve(counts)
    assert not found.exact
    assert found.error < 0.05
    big = {"nx": 4000, "ny": 20, "steps": 3}
    assert float(found.value(big)) == pytest.approx(4000 * math.log2(4000) * 1.37, rel=0.2)


def test_comparisons_of_a_heapsort_are_approximated() -> None:
    sizes = draw_sizes(parse_sizes("n=100..3000"), 16)
    found = Solver(sizes).solve([round(n * math.log2(n) - 1.52 * n + n % 5) for n in (size["n"] for size in sizes)])
    assert not found.exact
    assert found.error < 0.01
    assert float(found.value({"n": 10**6})) == pytest.approx(10**6 * (math.log2(10**6) - 1.52), rel=0.02)


def test_approximations_are_never_negative_where_it_matters() -> None:
    sizes = draw_sizes(parse_sizes("n=20..60"), 12)
    found = Solver(sizes).solve([max(size["n"] * 100 - size["n"] ** 2 + size["n"] % 3, 1) for size in sizes])
    assert all(float(found.value({"n": n})) > 0 for n in (16, 60, 600, 60000))


def test_coefficients_are_written_as_fractions() -> None:
    found = _SOLVER.solve(counted("nx * (nx - 1) / 2"))
    assert found.text() in ("nx^2 / 2 - nx / 2", "nx * (nx - 1) / 2")
    assert {abs(Fraction(term.coefficient)) for term in found.terms} == {Fraction(1, 2)}
