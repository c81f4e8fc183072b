from __future__ import annotations

import numpy as np

from cosched.modelling.formula import Formula, Term, WorkingSet

VALUES, PROCESSORS = np.array([[4.0, 8.0], [2.0, 1.0]]), np.array([2.0, 4.0])


def test_a_term_is_a_product_of_powers() -> None:
    term = Term((2.0, 0.0), (0.0, 1.0), -1.0, 1.0)
    assert term.at(VALUES, PROCESSORS).tolist() == [16 * 3 / 2, 0.0]
    assert term.psl(["a", "b"]) == [" * a ^ 2", " * max(0, log2(b))", " / Nproc", " * log2(Nproc)"]
    assert not term.constant
    assert Term((0.0,), (0.0,)).constant


def test_a_cost_has_a_unit_that_is_easily_read() -> None:
    terms = Term((0.0, 0.0), (0.0, 0.0)), Term((1.0, 0.5), (0.0, 0.0)), Term((0.0, 1.0), (0.0, 0.0))
    formula = Formula(terms, (1.5, 2.5e-8, 3e-4))
    assert formula.psl(["a", "b"]) == "1.5 s + 25 ns * a * b ^ 0.5 + 0.3 ms * b"
    assert np.allclose(formula.at(VALUES, PROCESSORS), [1.5 + 1e-7 * 8**0.5 + 2.4e-3, 1.5 + 5e-8 + 3e-4])


def test_beyond_a_cache_counts_what_does_not_fit() -> None:
    plain = Term((1.0, 1.0), (0.0, 0.0))
    inside = WorkingSet(Formula((Term((0.0, 0.0), (0.0, 0.0)), plain), (1e6, 16.0)))
    assert inside.at(VALUES, PROCESSORS).tolist() == [16 * 32, 32]
    formula = Formula((plain, Term((1.0, 1.0), (0.0, 0.0), beyond=256.0)), (1.0, 1.0), inside)
    assert formula.at(VALUES, PROCESSORS).tolist() == [32 + 32 * 0.5, 2]
    assert formula.psl(["a", "b"]) == "1 s * a * b + 1 s * a * b * max(0, 1 - 256 B / (16 B * a * b))"
