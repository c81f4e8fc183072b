from __future__ import annotations

import pytest

from cosched.evaluation.budget import CountError, fail
from cosched.language import ModelError, Source
from cosched.language.syntax import Position

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
