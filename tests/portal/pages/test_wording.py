from __future__ import annotations

import unicodedata
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from cosched.portal.pages.wording import clock, duration, full, number, plain, shift, zone_of

NOON = 1_750_000_000.0  # 15 June 2025, 15:06:40 UTC
BERLIN = ZoneInfo("Europe/Berlin")


def test_a_duration_has_at_most_two_units() -> None:
    lengths = (0.04, 9.9, 59.4, 59.6, 61.0, 3599.0, 3600.0, 5400.0, 90_000.0, 300_000.0)
    assert [duration(length) for length in lengths] == [
        "0.0 s",
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
    words = duration(seconds).split()
    assert not any(value == "60" for value, unit in zip(words[::2], words[1::2], strict=True) if unit in ("s", "min"))


def test_a_shift_has_its_sign() -> None:
    assert (shift(61), shift(-5)) == ("+1 min 1 s", "−5.0 s")


def test_a_moment_is_told_in_the_zone_of_whoever_looks() -> None:
    assert clock(NOON, NOON, BERLIN) == "17:06:40"
    assert clock(NOON - 86400, NOON, BERLIN) == "Sat 17:06"
    assert clock(NOON - 90 * 86400, NOON, BERLIN) == "17 Mar 2025"
    assert full(NOON, BERLIN) == "Sunday 15 June 2025, 17:06:40 CEST (UTC+02:00)"
    assert full(NOON, ZoneInfo("UTC")) == "Sunday 15 June 2025, 15:06:40 UTC+00:00"


def test_only_a_zone_that_there_is_is_one() -> None:
    assert zone_of("Europe/Berlin") == BERLIN
    for wrong in ("", "Europe", "Nowhere/Town", "../../etc/passwd", "/etc/passwd", "x" * 1000, "a\0b", "\u202e"):
        assert zone_of(wrong) is None


def test_numbers_are_brief() -> None:
    assert [number(value) for value in (0.001, 3.0, 1234.0, 1e6)] == ["0.001", "3", "1\u202f234", "1\u202f000\u202f000"]


@given(st.text(st.characters()))
def test_nothing_that_cannot_be_seen_is_printed(text: str) -> None:
    shown = plain(text)
    assert all(unicodedata.category(letter) not in ("Cf", "Cs", "Cc") or letter in "\t\n" for letter in shown)


def test_marks_that_turn_text_are_named_and_markup_of_our_own_stays() -> None:
    assert plain("gpj\u202etxt") == "gpj⟨U+202E⟩txt"
    assert plain(Markup("<b>\u200e</b>")) == "<b>\u200e</b>"
    assert (plain(None), plain(7)) == ("", 7)
