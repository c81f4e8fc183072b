from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.modelling.formula import Formula, Term
from cosched.modelling.formula_search import (
    best_formulas,
    cached_formula,
    possible_terms,
    power_law,
    refitted,
    unseen_cache,
    working_set,
)
from cosched.modelling.points import Points, TimedRun, points_of


def grid(formula: Formula, memory: float = 0.0) -> Points:
    runs = []
    for a in (10, 25, 60, 140, 330):
        for b in (8, 50, 300):
            for count in (1, 2, 4):
                seconds = float(formula.at(np.array([[a, b]], float), np.array([float(count)]))[0])
                bytes_ = 5e6 + 8 * a * b if memory else 0.0
                runs.append(TimedRun({"a": a, "b": b}, count, seconds, memory=bytes_))
    return points_of(runs)


@given(
    st.lists(
        st.tuples(st.sampled_from([(1.0, 1.0), (2.0, 1.0), (1.0, 0.0), (3.0, 0.0)]), st.sampled_from([0.0, -1.0])),
        min_size=1,
        max_size=2,
        unique_by=lambda item: item[0],
    )
)
def test_laws_without_noise_are_found(terms: list[tuple[tuple[float, float], float]]) -> None:
    law = Formula(tuple(Term(powers, (0.0, 0.0), share) for powers, share in terms), (1e-6,) * len(terms))
    points = grid(law)
    found = best_formulas(points, points.seconds, possible_terms(points))[len(terms) - 1]
    away = np.array([[800.0, 5.0], [3.0, 900.0]]), np.array([8.0, 3.0])
    assert np.allclose(found.at(*away), law.at(*away), rtol=0.02)


def test_costs_below_0_are_not_taken() -> None:
    points = grid(Formula((Term((1.0, 1.0), (0.0, 0.0)),), (1e-6,)))
    both = Formula((Term((1.0, 1.0), (0.0, 0.0)), Term((0.0, 0.0), (0.0, 0.0))), (1.0, 1.0))
    found = refitted(both, points, points.seconds - 1e-6)
    assert found is not None
    assert [term.constant for term in found.terms] == [False]


def test_a_power_law_has_any_exponents() -> None:
    points = grid(Formula((Term((1.37, 0.6), (0.0, 0.0), -0.8),), (1e-3,)))
    (term,) = power_law(points).terms
    assert (*term.powers, term.processors) == pytest.approx((1.37, 0.6, -0.8), abs=0.02)


def test_a_working_set_makes_terms_of_caches() -> None:
    inside = Term((1.0, 1.0), (0.0, 0.0))
    plain = Formula((inside,), (1e-8,))
    points = grid(plain, memory=1.0)
    grown = working_set(points, possible_terms(points))
    assert grown is not None
    assert grown.at(np.array([[50.0, 40.0]]), np.ones(1))[0] == pytest.approx(16000, rel=0.05)
    law = Formula((inside, Term((1.0, 1.0), (0.0, 0.0), beyond=65536.0)), (1e-8, 2e-8), grown)
    slower = grid(law, memory=1.0)
    found = cached_formula(plain, slower, grown, [65536.0, 1e12])
    assert found is not None
    assert [term.beyond for term in found.terms] == [0.0, 65536.0]
    assert found.costs == pytest.approx((1e-8, 2e-8), rel=1e-3)
    assert cached_formula(plain, slower, grown, [1e12]) is None


@pytest.mark.parametrize("seed", [96, 133, 230])
def test_a_law_with_caches_takes_time_wherever_a_run_was(seed: int) -> None:
    """Only terms beyond the cache were left, so that runs within it took none and their errors were divided by it."""
    draw = random.Random(seed)
    runs = [
        TimedRun(
            {"n": n, "steps": steps},
            hosts,
            10 ** draw.uniform(-4, -2),
            memory=14.2e6 + 16 * n * n / hosts * (1 + draw.random() * 0.02),
        )
        for hosts in (1, 2)
        for n in (300.0, 600.0)
        for steps in (10.0, 20.0)
    ]
    points = points_of(runs)
    possible = possible_terms(points)
    grown = working_set(points, possible)
    assert grown is not None
    for formula in best_formulas(points, points.seconds, possible):
        for level in (1e5, 1e6, 2e6, 3e6, 5e6):
            found = cached_formula(formula, points, grown, [level])
            assert found is None or (found.at(points.values, points.processors) > 0).all()


def test_a_cache_that_no_run_has_left_is_named() -> None:
    points = grid(Formula((Term((1.0, 1.0), (0.0, 0.0)),), (1e-8,)), memory=1.0)
    most = 8 * 330 * 300 / (1 << 20)  # MiB of the largest size
    assert unseen_cache(points, (1 << 15, 1 << 21)) == (
        f"Working sets of processes go to {most:.3g} MiB, within L2 (2 MiB): "
        "a size beyond it takes longer than the model says"
    )
    assert unseen_cache(points, (1 << 15, 1 << 18)) == ""  # runs have left both
    assert unseen_cache(points, ()) == ""
    plain = grid(Formula((Term((1.0, 1.0), (0.0, 0.0)),), (1e-8,)))
    assert unseen_cache(plain, (1 << 21,)) == ""  # nobody knows what they take


def test_memory_that_hardly_grows_is_no_working_set() -> None:
    """Of programs of 13 MiB with 0.3 MiB of data, all 13 MiB had been taken for the data."""
    runs = [
        TimedRun({"n": float(n)}, count, 1e-9 * n**3, memory=13.2e6 + 8 * n * n / count + 2e4 * (n % 3))
        for n in (60, 100, 150, 200)
        for count in (1, 2)
    ]
    points = points_of(runs)
    assert working_set(points, possible_terms(points)) is None
    assert unseen_cache(points, (1 << 15, 1 << 25)) == ""


def test_memory_that_is_not_known_or_does_not_grow_is_no_working_set() -> None:
    points = grid(Formula((Term((1.0, 1.0), (0.0, 0.0)),), (1e-8,)))
    assert working_set(points, possible_terms(points)) is None
