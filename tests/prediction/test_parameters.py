from __future__ import annotations

import math
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.errors import UserError
from cosched.prediction.catalogue import ApplicationParameter, ParameterValue, choose_values

INTEGER = ApplicationParameter(type="integer", min=1, max=100, default=5)
NUMBER = ApplicationParameter(type="number", min=0)
TEXT = ApplicationParameter(type="text", default="a", choices=("a", "b"))


@pytest.mark.parametrize(
    ("parameter", "given", "value"),
    [(INTEGER, 7, 7), (INTEGER, "7", 7), (INTEGER, 7.0, 7), (NUMBER, "2.5", 2.5), (NUMBER, 0, 0.0), (TEXT, "b", "b")],
)
def test_values_are_read_as_the_type_says(
    parameter: ApplicationParameter, given: ParameterValue, value: ParameterValue
) -> None:
    read = parameter.read("n", given)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    ("parameter", "given", "message"),
    [
        (INTEGER, 2.5, "n is 2.5: give an integer from 1 up to 100"),
        (INTEGER, "many", "n is 'many': give an integer from 1 up to 100"),
        (INTEGER, 101, "n is 101: give a value from 1 up to 100"),
        (INTEGER, True, "n is True: give an integer from 1 up to 100"),
        (NUMBER, -1, "n is -1: give a value from 0"),
        (NUMBER, math.nan, "n is nan: give a number from 0"),
        (NUMBER, "inf", "n is 'inf': give a number from 0"),
        (NUMBER, 10**400, f"n is {10**400}: give a number from 0"),
        (TEXT, "c", "n is 'c': choose one of a, b"),
        (ApplicationParameter(type="text"), "a\nqueue 500", "n contains the character '\\n': leave it out"),
        (ApplicationParameter(type="text"), "\u202egnp", "n contains the character '\\u202e': leave it out"),
        (ApplicationParameter(type="text"), "x" * 1001, "n has 1001 characters: at most 1000 are allowed"),
    ],
)
def test_a_wrong_value_says_what_would_be_right(
    parameter: ApplicationParameter, given: ParameterValue, message: str
) -> None:
    with pytest.raises(UserError) as caught:
        parameter.read("n", given)
    assert str(caught.value) == message


def test_what_is_not_given_takes_its_default() -> None:
    assert choose_values({"n": INTEGER, "x": NUMBER}, {"x": 1}, "app") == {"n": 5, "x": 1.0}


def test_unknown_and_missing_parameters_are_named() -> None:
    with pytest.raises(UserError, match=r"app has no parameter 'count' \(did you mean counts\?\): it takes counts, x"):
        choose_values({"counts": INTEGER, "x": NUMBER}, {"count": 1}, "app")
    with pytest.raises(UserError, match="app has no parameter 'count': it takes none"):
        choose_values({}, {"count": 1}, "app")
    with pytest.raises(UserError, match=r"app needs the parameter 'x' \(how far\): set x="):
        choose_values({"x": ApplicationParameter(help="how far")}, {}, "app")


@given(st.one_of(st.text(), st.floats(), st.integers()))
def test_whatever_is_given_is_in_range_or_refused(given: ParameterValue) -> None:
    with suppress(UserError):
        value = INTEGER.read("n", given)
        assert isinstance(value, int)
        assert 1 <= value <= 100
