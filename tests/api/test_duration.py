from __future__ import annotations

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.api.times import parse_duration
from cosched.errors import UserError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [(2.5, 2.5), (0, 0), ("30s", 30), ("2h30m", 9000), ("1d", 86400), ("250ms", 0.25), ("1.5", 1.5), ("1e3", 1000)],
)
def test_durations(text: str | float, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "s", "2 h", "-1", "-1s", "1h-2m", "nan", "inf", "1e999", "²s", "2h30", "99999999d"]
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="is not a duration: write"):
        parse_duration(text)


@pytest.mark.parametrize("value", [math.nan, math.inf, -1, True])
def test_numbers_that_are_no_durations(value: float) -> None:
    with pytest.raises(UserError):
        parse_duration(value)


@given(st.text())
def test_text_gives_a_duration_or_a_clear_refusal(text: str) -> None:
    with contextlib.suppress(UserError):
        assert math.isfinite(parse_duration(text))
