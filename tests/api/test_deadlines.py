from __future__ import annotations

import math
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.api.deadlines import HORIZON, parse_deadline, parse_deadline_field, parse_since, parse_typed_deadline
from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator

NOW = 1_750_000_000.0
BERLIN = ZoneInfo("Europe/Berlin")
FRIDAY = 1_774_600_000.0  # 2026-03-27 08:26:40 UTC, a Friday; clocks in Berlin go forward on Sunday


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


@pytest.fixture
def berlin() -> Iterator[None]:
    before = os.environ.get("TZ")
    os.environ["TZ"] = "CET-1CEST,M3.5.0,M10.5.0/3"  # the rule itself: needs no zone database
    time.tzset()
    yield
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()


def test_a_typed_deadline_may_be_relative_to_now() -> None:
    assert parse_typed_deadline("now+2h30m", FRIDAY) == (FRIDAY + 9000, "")


@pytest.mark.usefixtures("berlin")
def test_with_a_zone_nothing_is_assumed() -> None:
    assert parse_typed_deadline("2026-03-27T12:00Z", FRIDAY) == (1_774_612_800.0, "")
    assert parse_typed_deadline("2026-03-27T12:00+01:00", FRIDAY) == (1_774_609_200.0, "")


@pytest.mark.usefixtures("berlin")
def test_without_a_zone_it_is_local_and_that_is_told() -> None:
    assert parse_typed_deadline("2026-03-27T12:00", FRIDAY) == (
        1_774_609_200.0,
        "the deadline is 2026-03-27 12:00:00+01:00",
    )


@pytest.mark.usefixtures("berlin")
def test_a_time_of_day_is_the_next_such() -> None:
    assert parse_typed_deadline("12:00", FRIDAY)[0] == 1_774_609_200.0
    assert parse_typed_deadline("09:00", FRIDAY)[0] == 1_774_598_400.0 + 86400
    # Over the change of the clocks a day has 23 hours.
    assert parse_typed_deadline("09:00", FRIDAY + 86400) == (
        1_774_598_400.0 + 2 * 86400 - 3600,
        "the deadline is 2026-03-29 09:00:00+02:00",
    )


@pytest.mark.usefixtures("berlin")
@pytest.mark.parametrize(
    ("words", "moment"),
    [
        ("tomorrow 9am", "2026-03-28 09:00:00+01:00"),
        ("9am tomorrow", "2026-03-28 09:00:00+01:00"),
        ("5pm", "2026-03-27 17:00:00+01:00"),
        ("8am", "2026-03-28 08:00:00+01:00"),
        ("noon", "2026-03-27 12:00:00+01:00"),
        ("monday 17:00", "2026-03-30 17:00:00+02:00"),  # after the clocks have changed
        ("Fri 5 PM", "2026-03-27 17:00:00+01:00"),  # still to come today
        ("friday 8:30", "2026-04-03 08:30:00+02:00"),
        ("next friday 17:00", "2026-04-03 17:00:00+02:00"),
        ("friday 3 april 17:00", "2026-04-03 17:00:00+02:00"),
        ("3 april 17:00", "2026-04-03 17:00:00+02:00"),
    ],
)
def test_a_deadline_in_words_is_the_next_such_and_is_told(words: str, moment: str) -> None:
    assert parse_typed_deadline(words, FRIDAY)[1] == f"the deadline is {moment}"


@pytest.mark.usefixtures("berlin")
def test_a_zone_in_words_holds() -> None:
    assert parse_typed_deadline("monday 17:00 UTC", FRIDAY) == (1_774_890_000.0, "")


@pytest.mark.usefixtures("berlin")
def test_a_time_that_the_clocks_skip_is_refused() -> None:
    with pytest.raises(UserError, match="does not exist here, the clocks are set forward over it"):
        parse_typed_deadline("2026-03-29T02:30", FRIDAY)


@pytest.mark.usefixtures("berlin")
def test_a_time_that_comes_twice_is_the_first_and_that_is_told() -> None:
    seconds, note = parse_typed_deadline("2026-10-25T02:30", FRIDAY)
    assert seconds == 1_792_888_200.0
    assert note == "the deadline is 2026-10-25 02:30:00+02:00, the first of the two moments with this time"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2020-01-01T00:00Z", "is past, it is"),
        ("now+0", "is past, it is"),
        ("9999-12-30T23:59Z", "more than ten years away"),
        ("9999-12-31T23:59", "out of range: give one within ten years|more than ten years away"),
        ("now+99999d", "is not a duration"),
        ("now-1h", r"'now-1h' is past: give a later one, such as now\+2h30m"),
        ("25:00", "'25:00' is not a time"),
        ("tomorrow", "'tomorrow' is not a time: write now.*'friday 17:00'"),
        ("tomorrow 25:00", "'tomorrow 25:00' is not a time"),
        ("yesterday 5pm", "is past, it is"),
        ("10", "'10' is not a time"),
        ("blursday 17:00", "'blursday 17:00' is not a time"),
        ("", "'' is not a time"),
    ],
)
def test_what_is_no_typed_deadline_is_refused(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        parse_typed_deadline(text, FRIDAY)


@given(
    st.text() | st.datetimes().map(lambda moment: moment.isoformat()) | st.times().map(lambda moment: f"{moment:%H:%M}")
)
def test_a_typed_deadline_lies_ahead_or_is_refused(text: str) -> None:
    with suppress(UserError):
        assert FRIDAY < parse_typed_deadline(text, FRIDAY)[0] <= FRIDAY + HORIZON


def test_a_field_holds_a_time_of_the_persons_zone() -> None:
    assert parse_deadline_field("2030-07-01T12:00", BERLIN) == parse_deadline_field("2030-07-01T10:00+00:00", None)
    assert parse_deadline_field("", BERLIN) is None


def test_a_field_with_a_time_that_the_clocks_skip_is_refused() -> None:
    """Bad inputs 5."""
    with pytest.raises(UserError, match="does not exist here"):
        parse_deadline_field("2030-03-31T02:30", BERLIN)


@pytest.mark.parametrize("text", ["soon", "18:00", "now+1h", "9999-99-99T00:00"])
def test_a_field_without_a_time_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="is not a time: choose a date"):
        parse_deadline_field(text, ZoneInfo("Pacific/Kiritimati"))


def test_a_past_time_is_so_long_ago_or_a_date() -> None:
    assert parse_since("8h", FRIDAY) == FRIDAY - 8 * 3600
    assert parse_since("2026-03-27T08:00+00:00", FRIDAY) == FRIDAY - 26 * 60 - 40


@pytest.mark.parametrize(
    ("text", "message"), [("soon", "is no time: write how long ago"), ("2027-01-01", "is still to come")]
)
def test_what_is_no_past_time_is_refused(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        parse_since(text, FRIDAY)
