from __future__ import annotations

import pytest

from cosched.connector.interface import ConnectorError
from cosched.connector.submission import SubmitOutcomes


def test_an_error_is_what_came_of_those_it_is_about() -> None:
    outcomes = SubmitOutcomes(a="7.0")
    with outcomes.settle(["b", "c"]):
        _fail(ConnectorError("timed out", transient=True))
    assert outcomes.job("a") == "7.0"
    with pytest.raises(ConnectorError, match="timed out"):
        outcomes.job("c")


def test_a_mistake_is_no_outcome() -> None:
    outcomes = SubmitOutcomes()
    with pytest.raises(ZeroDivisionError), outcomes.settle(["a"]):
        _fail(ZeroDivisionError())
    assert not outcomes


def _fail(error: Exception) -> None:
    raise error
