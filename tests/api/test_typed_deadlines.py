from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.api.deadlines import HORIZON, parse_typed_deadline
from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator

NOW = 1_774_600_000.0  # 2026-03-27 08:26:40 UTC, a Friday; clocks in Berlin go forward on Sunday


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


def test_relative_to_now() -> None:
    assert parse_typed_deadline("now+2h30m", NOW) == (NOW + 9000, "")


@pytest.mark.usefixtures("berlin")
def test_with_a_zone_nothing_is_assumed() -> None:
    assert parse_typed_deadline("2026-03-27T12:00Z", NOW) == (1_774_612_800.0, "")
    assert parse_typed_deadline("2026-03-27T12:00+01:00", NOW) == (1_774_609_200.0, "")


@pytest.mark.usefixtures("berlin")
def test_without_a_zone_it_is_local_and_that_is_told() -> None:
    assert parse_typed_deadline("2026-03-27T12:00", NOW) == (
        1_774_609_200.0,
        "the deadline is 2026-03-27 12:00:00+01:00",
    )


@pytest.mark.usefixtures("berlin")
def test_a_time_of_day_is_the_next_such() -> None:
    assert parse_typed_deadline("12:00", NOW)[0] == 1_774_609_200.0
    assert parse_typed_deadline("09:00", NOW)[0] == 1_774_598_400.0 + 86400
    # Over the change of the clocks a day has 23 hours.
    assert parse_typed_deadline("09:00", NOW + 86400) == (
        1_774_598_400.0 + 2 * 86400 - 3600,
        "the deadline is 2026-03-29 09:00:00+02:00",
    )


@pytest.mark.usefixtures("berlin")
def test_a_time_that_the_clocks_skip_is_refused() -> None:
    with pytest.raises(UserError, match="does not exist here, the clocks are set forward over it"):
        parse_typed_deadline("2026-03-29T02:30", NOW)


@pytest.mark.usefixtures("berlin")
def test_a_time_that_comes_twice_is_the_first_and_that_is_told() -> None:
    seconds, note = parse_typed_deadline("2026-10-25T02:30", NOW)
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
        ("now-1h", "'now-1h' is not a time: write now"),
        ("25:00", "'25:00' is not a time"),
        ("", "'' is not a time"),
    ],
)
def test_anything_else_is_refused(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        parse_typed_deadline(text, NOW)


@given(
    st.text() | st.datetimes().map(lambda moment: moment.isoformat()) | st.times().map(lambda moment: f"{moment:%H:%M}")
)
def test_a_deadline_lies_ahead_or_is_refused(text: str) -> None:
    with suppress(UserError):
        assert NOW < parse_typed_deadline(text, NOW)[0] <= NOW + HORIZON
