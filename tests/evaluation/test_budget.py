from __future__ import annotations

import pytest

from cosched.evaluation.budget import Budget, CountError, fail
from cosched.language import ModelError, Source
from cosched.language.syntax import Position


def test_an_evaluation_ends_at_the_place_where_nothing_is_left() -> None:
    budget, source = Budget(10), Source("x.psl", "one\ntwo")
    budget.spend(4, source, Position(1, 1))
    budget.spend(6, source, Position(1, 1))
    assert budget.left == 0
    with pytest.raises(ModelError, match=r"x\.psl:2:3: stopped here after 10 steps"):
        budget.spend(1, source, Position(2, 3))


SOURCE = Source("a.psl", "first\nsecond line")


def test_a_fault_of_an_evaluation_stands_at_its_place_in_the_model() -> None:
    with pytest.raises(ModelError, match=r"^a\.psl:2:8: too much$") as caught:
        fail(SOURCE, Position(2, 8), "too much")
    (fault,) = caught.value.diagnostics
    assert fault.render().splitlines() == ["a.psl:2:8: too much", "  second line", "         ^"]


def test_a_number_of_hosts_that_is_not_covered_is_a_fault_of_its_own_kind() -> None:
    with pytest.raises(CountError):
        fail(SOURCE, Position(1, 1), "not on 3", CountError)
    assert issubclass(CountError, ModelError)
