from __future__ import annotations

from contextvars import copy_context
from zoneinfo import ZoneInfo

from cosched.api.times import (
    format_clock,
    format_moment,
    format_optional_time,
    format_time,
    reader_zone,
    utc_text,
    zone_named,
)

NOON = 1_750_000_000.0  # 15 June 2025, 15:06:40 UTC
BERLIN = ZoneInfo("Europe/Berlin")


def test_a_time_is_shown_in_the_readers_zone() -> None:
    assert format_clock(NOON, NOON, BERLIN) == "17:06:40"
    assert format_clock(NOON - 86400, NOON, BERLIN) == "Sat 17:06"
    assert format_clock(NOON - 90 * 86400, NOON, BERLIN) == "17 Mar 2025"
    assert format_moment(NOON, BERLIN) == "Sunday 15 June 2025, 17:06:40 CEST (UTC+02:00)"
    assert format_moment(NOON, ZoneInfo("UTC")) == "Sunday 15 June 2025, 15:06:40 UTC+00:00"


def test_an_unknown_zone_is_none() -> None:
    assert zone_named("Europe/Berlin") == BERLIN
    for wrong in ("", "Europe", "Nowhere/Town", "../../etc/passwd", "/etc/passwd", "x" * 1000, "a\0b", "\u202e"):
        assert zone_named(wrong) is None


def test_a_time_has_its_zone_and_none_is_empty() -> None:
    assert format_optional_time(None) == ""
    assert format_optional_time(0.0)[-6] in "+-"


def test_a_time_is_in_the_readers_zone_where_it_is_known() -> None:
    def shown() -> str:
        reader_zone.set(ZoneInfo("Asia/Kolkata"))
        return format_time(NOON)

    before = format_time(NOON)
    assert copy_context().run(shown) == "2025-06-15 20:36:40+05:30"
    assert format_time(NOON) == before


def test_a_time_for_machines_is_universal() -> None:
    assert utc_text(NOON) == "2025-06-15T15:06:40Z"
