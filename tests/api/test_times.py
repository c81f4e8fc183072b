from __future__ import annotations

import pytest

from cosched.api.times import format_duration, format_optional_time


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, ""),
        (0, "0s"),
        (2.345, "2.35s"),
        (59.9, "59.9s"),
        (60, "1m"),
        (3725, "1h 2m"),
        (90061, "1d 1h"),
        (-75, "-1m 15s"),
    ],
)
def test_durations_are_short(seconds: float | None, text: str) -> None:
    assert format_duration(seconds) == text


def test_times_have_a_zone() -> None:
    assert format_optional_time(None) == ""
    assert format_optional_time(0.0)[-6] in "+-"
