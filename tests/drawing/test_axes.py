from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.drawing.axes import Axis, AxisKind, clock_ticks

NOON = datetime(2025, 6, 15, 12, tzinfo=UTC).timestamp()
KINDS = st.sampled_from(list(AxisKind))


def words(values: list[float], kind: AxisKind) -> list[str]:
    return [text for _, text in Axis(values, 100.0, kind, UTC).ticks]


@pytest.mark.parametrize(
    ("values", "kind", "found"),
    [
        ([0, 100], AxisKind.LINEAR, ["0", "20", "40", "60", "80", "100"]),
        ([1, 1000], AxisKind.LOGARITHMIC, ["1", "2", "5", "10", "20", "50", "100", "200", "500", "1000"]),
        ([1, 3], AxisKind.COUNT, ["1", "2", "3"]),
        ([1], AxisKind.COUNT, ["1"]),
        ([1, 256], AxisKind.COUNT, ["50", "100", "150", "200", "250"]),
        ([0, 3600], AxisKind.DURATION, ["0 s", "10 min", "20 min", "30 min", "40 min", "50 min", "1 h"]),
        ([0, 2], AxisKind.DURATION, ["0 s", "0.5 s", "1 s", "1.5 s", "2 s"]),
        ([0, 0.08], AxisKind.DURATION, [f"{n}0 ms" if n else "0 s" for n in range(9)]),
        ([0, 4e-5], AxisKind.DURATION, ["0 s", "10 µs", "20 µs", "30 µs", "40 µs"]),
        ([1, 1.02], AxisKind.DURATION, ["1 s", "1.005 s", "1.01 s", "1.015 s", "1.02 s"]),
        ([NOON, NOON + 3600], AxisKind.CLOCK, ["12:00", "12:10", "12:20", "12:30", "12:40", "12:50", "13:00"]),
        ([NOON, NOON + 5 * 86400], AxisKind.CLOCK, ["16 Jun", "17 Jun", "18 Jun", "19 Jun", "20 Jun"]),
    ],
)
def test_each_kind_has_its_own_round_values(values: list[float], kind: AxisKind, found: list[str]) -> None:
    assert words(values, kind) == found


def test_times_of_day_are_round_in_the_readers_zone() -> None:
    half = timezone(timedelta(hours=5, minutes=30))
    assert [text for _, text in clock_ticks(NOON, NOON + 4 * 3600, half, 4)] == ["18:00", "19:00", "20:00", "21:00"]
    days = clock_ticks(NOON, NOON + 3 * 86400, ZoneInfo("Europe/Berlin"))
    assert [datetime.fromtimestamp(moment, ZoneInfo("Europe/Berlin")).hour for moment, _ in days][:2] == [0, 12]


@given(st.lists(st.floats(1e-3, 4e9), min_size=1, max_size=9), KINDS)
def test_ticks_are_few_and_inside_and_values_too(values: list[float], kind: AxisKind) -> None:
    axis = Axis(values, 640.0, kind, UTC)
    assert len(axis.ticks) <= 20
    assert all(-0.01 <= axis.at(value) <= 640.01 for value in (*values, *(value for value, _ in axis.ticks)))
    assert all(axis.words(value) for value in values)


@given(st.floats(0, 1e6), st.floats(1e-9, 1e9))
def test_no_two_ticks_of_durations_are_named_alike(first: float, length: float) -> None:
    named = words([first, first + length], AxisKind.DURATION)
    assert len(set(named)) == len(named)
