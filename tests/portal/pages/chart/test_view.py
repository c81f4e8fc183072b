from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.portal.pages.chart.blocks import ChartBlock
from cosched.portal.pages.chart.view import ScheduleView, stands_out, steps

MOMENTS = st.floats(0, 4e9)


def test_the_whole_plan_is_seen_with_a_little_of_the_past() -> None:
    left, right = ScheduleView().window(1000.0, 600.0)
    assert 900 < left < 1000
    assert right > 1600


def test_edges_of_its_own_stand_still() -> None:
    view = ScheduleView(span="1h", begin=100.0, end=200.0)
    assert view.stands_still
    assert view.window(1000.0, 600.0) == (100.0, 200.0)
    assert not ScheduleView(begin=100.0).stands_still


@given(MOMENTS, MOMENTS)
def test_any_edges_are_a_window_in_which_something_fits(begin: float, end: float) -> None:
    left, right = ScheduleView(begin=begin, end=end).window(1000.0, 600.0)
    assert 0.9 <= right - left <= 366 * 86400 + 1


def test_steps_lead_to_the_views_beside() -> None:
    assert steps((1000.0, 1400.0)) == {
        "earlier": {"from": 800, "to": 1200},
        "later": {"from": 1200, "to": 1600},
        "closer": {"from": 1100, "to": 1300},
        "wider": {"from": 800, "to": 1600},
    }


@pytest.mark.parametrize(
    ("show", "found"),
    [
        ("", "1234"),
        ("mine", "12"),
        ("late", "24"),
        ("owner:bob", "34"),
        ("application:fft", "13"),
        ("application:", ""),
        ("nonsense", "1234"),
    ],
)
def test_tasks_stand_out_by_owner_application_or_lateness(show: str, found: str) -> None:
    blocks = [
        ChartBlock("1", "", "fft", ("h",), 0.0, 50.0, None, "planned", 0, "ann"),
        ChartBlock("2", "", "cpi", ("h",), 0.0, 50.0, 40.0, "planned", 0, "ann"),
        ChartBlock("3", "", "fft", ("h",), 0.0, 50.0, 70.0, "planned", 0, "bob"),
        ChartBlock("4", "", "cpi", ("h",), 0.0, 50.0, 55.0, "planned", 0, "bob", at_risk=True),
    ]
    assert "".join(block.task for block in blocks if stands_out(block, show, "ann")) == found
