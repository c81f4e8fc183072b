from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from cosched.connector.interface import ConnectorError
from cosched.connector.jobs import Launch
from cosched.connector.submission import SubmitOutcomes, submit_many
from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

LAUNCHES = [Launch(name, "1", "t", ("/x",)) for name in ("a", "b", "c")]
BAD = UserError("bad name")


class OneByOne:
    def submit(self, launch: Launch) -> str:
        if launch.attempt == "b":
            raise BAD
        return f"job of {launch.attempt}"


class Together(OneByOne):
    def submit_many(self, launches: Sequence[Launch]) -> dict[str, str]:
        return {launch.attempt: "together" for launch in launches}


def test_one_that_is_refused_keeps_none_of_the_others() -> None:
    outcomes = submit_many(cast("Any", OneByOne()), LAUNCHES)
    assert outcomes == {"a": "job of a", "b": BAD, "c": "job of c"}


def test_a_connector_that_takes_many_is_given_many() -> None:
    assert set(submit_many(cast("Any", Together()), LAUNCHES).values()) == {"together"}


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
