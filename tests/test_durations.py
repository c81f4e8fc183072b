from __future__ import annotations

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.durations import format_duration, format_shift, parse_duration
from cosched.errors import UserError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (2.5, 2.5),
        (0, 0),
        ("30s", 30),
        ("2h30m", 9000),
        ("1d", 86400),
        ("250ms", 0.25),
        ("3 µs", 3e-6),
        ("3us", 3e-6),
        ("10min", 600),
        ("2 h 5 min", 7500),
        ("1.5", 1.5),
        ("1e3", 1000),
    ],
)
def test_durations(text: str | float, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "s", "2  h", "2 hours", "-1", "-1s", "1h-2m", "nan", "inf", "1e999", "²s", "2h30", "99999999d"]
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(UserError, match=r"is not a duration: write .*, from 0 on"):
        parse_duration(text)


@pytest.mark.parametrize("value", [math.nan, math.inf, -1, True])
def test_numbers_that_are_no_durations(value: float) -> None:
    with pytest.raises(UserError):
        parse_duration(value)


@given(st.floats(1e-7, 1e8))
def test_what_is_shown_as_a_duration_can_be_written_as_one(seconds: float) -> None:
    assert parse_duration(format_duration(seconds)) == pytest.approx(seconds, rel=0.06)


@given(st.text())
def test_text_gives_a_duration_or_a_clear_refusal(text: str) -> None:
    with contextlib.suppress(UserError):
        assert math.isfinite(parse_duration(text))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, ""),
        (0, "0 s"),
        (1e-9, "0 s"),
        (0.0000001, "0.1 µs"),
        (0.00004, "40 µs"),
        (0.000297, "0.3 ms"),
        (0.0512, "51 ms"),
        (0.0997, "0.1 s"),
        (0.25, "0.25 s"),
        (2.345, "2.3 s"),
        (59.4, "59 s"),
        (60, "1 min"),
        (3725, "1 h 2 min"),
        (200_000, "2 d 8 h"),
        (-75, "−1 min 15 s"),
    ],
)
def test_a_duration_is_text_for_people(seconds: float | None, text: str) -> None:
    assert format_duration(seconds) == text


def test_a_duration_has_at_most_two_units() -> None:
    lengths = (0.04, 9.9, 59.4, 59.6, 61.0, 3599.0, 3600.0, 5400.0, 90_000.0, 300_000.0)
    assert [format_duration(length) for length in lengths] == [
        "40 ms",
        "9.9 s",
        "59 s",
        "1 min",
        "1 min 1 s",
        "59 min 59 s",
        "1 h",
        "1 h 30 min",
        "25 h",
        "3 d 11 h",
    ]


@given(st.floats(0, 1e9))
def test_no_duration_reads_sixty(seconds: float) -> None:
    words = format_duration(seconds).split()
    assert not any(value == "60" for value, unit in zip(words[::2], words[1::2], strict=True) if unit in ("s", "min"))


def test_a_shift_has_its_sign() -> None:
    assert (format_shift(61), format_shift(-5)) == ("+1 min 1 s", "−5.0 s")
