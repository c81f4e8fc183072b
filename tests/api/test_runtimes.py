from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.api.documents import ShapeFigure
from cosched.api.runtimes import parse_runtime, parse_shape_runtimes
from cosched.errors import UserError


def test_run_times_are_told_by_hosts_or_by_hosts_and_cores() -> None:
    assert parse_runtime("4:30m,2:1h") == (None, 3600.0, None, 1800.0)
    assert parse_shape_runtimes("4:30m,2:1h") == ()
    assert parse_shape_runtimes("30m") == parse_shape_runtimes(1800.0) == ()
    assert parse_shape_runtimes("1x8:30m, 2×16:540") == (
        ShapeFigure(hosts=1, cores=8, seconds=1800.0),
        ShapeFigure(hosts=2, cores=16, seconds=540.0),
    )


@pytest.mark.parametrize("text", ["1:5m,1:6m", "2:1h,4:30m, 2:1h"])
def test_two_times_for_one_number_of_hosts_are_refused(text: str) -> None:
    with pytest.raises(UserError, match="has two times for the same number of hosts: give one"):
        parse_runtime(text)


@pytest.mark.parametrize("text", ["1x8", "1x8:", "1x8:30m,4:9m", "1x8:0s", "1x8:00:10:00", "1x8:soon"])
def test_figures_that_cannot_be_read_are_refused_with_an_example(text: str) -> None:
    with pytest.raises(UserError, match=r"1x8:30m,2x16:9m|time of 0|is not a duration"):
        parse_shape_runtimes(text)


@given(st.text(alphabet="0123456789x×:,hms ", max_size=20))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        figures = parse_shape_runtimes(text)
    except UserError:
        return
    assert all(figure.seconds > 0 for figure in figures)
