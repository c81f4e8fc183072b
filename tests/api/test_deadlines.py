from __future__ import annotations

import math
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.api.deadlines import HORIZON, parse_deadline
from cosched.errors import UserError

NOW = 1_750_000_000.0


def test_seconds_and_iso_with_a_zone() -> None:
    assert parse_deadline(NOW + 1.5, NOW) == NOW + 1.5
    assert parse_deadline("2030-01-31T18:00:00Z", NOW) == 1896112800.0
    assert parse_deadline("2030-01-31T18:00+01:00", NOW) == 1896109200.0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (NOW, "is past, it is"),
        (NOW - 1, "is past, it is"),
        (-1e300, "is past, it is"),
        ("1999-01-01T00:00Z", "is past, it is"),
        ("9999-12-31T23:59:59Z", "more than ten years away"),
        (math.inf, "more than ten years away"),
        (math.nan, "more than ten years away"),
        (1e308, "more than ten years away"),
        ("2030-01-31T18:00", "has no zone: write 2030-01-31T18:00\\+00:00"),
        ("tomorrow", "'tomorrow' is not a time: write"),
        ("", "'' is not a time"),
    ],
)
def test_what_is_no_deadline_is_refused(given: float | str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        parse_deadline(given, NOW)


@given(st.text() | st.datetimes().map(str) | st.floats())
def test_a_deadline_lies_ahead_or_is_refused(given: float | str) -> None:
    with suppress(UserError):
        assert NOW < parse_deadline(given, NOW) <= NOW + HORIZON


def test_a_deadline_may_be_so_long_from_now() -> None:
    assert parse_deadline("now+2h30m", 1e9) == 1e9 + 9000
    with pytest.raises(UserError):
        parse_deadline("now+soon", 1e9)
