from __future__ import annotations

import pytest

from cosched.evaluation.budget import Budget
from cosched.language import ModelError, Source
from cosched.language.syntax import Position


def test_an_evaluation_ends_at_the_place_where_nothing_is_left() -> None:
    budget, source = Budget(10), Source("x.psl", "one\ntwo")
    budget.spend(4, source, Position(1, 1))
    budget.spend(6, source, Position(1, 1))
    assert budget.left == 0
    with pytest.raises(ModelError, match=r"x\.psl:2:3: stopped here after 10 steps"):
        budget.spend(1, source, Position(2, 3))
