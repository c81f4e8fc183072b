from __future__ import annotations

from cosched.simulation.experiments.grid_scale import EXPERIMENT

SETTINGS = {"hosts": "4", "requests": "1", "span": "5"}


def test_letters_for_each_request_do_not_grow_with_the_grid() -> None:
    small, large = EXPERIMENT.run(1, EXPERIMENT.settings(SETTINGS | {"largest": "100"}))
    assert (small["domains"], large["domains"], large["hosts"], large["requests"]) == (10, 100, 400, 100)
    assert float(large["moved"] or 0) > 0
    assert float(large["messages"] or 0) < 3 * float(small["messages"] or 0)
    assert float(large["memory"] or 0) > 1e6


def test_sizes_beyond_the_largest_are_left_out() -> None:
    rows = EXPERIMENT.run(1, EXPERIMENT.settings(SETTINGS | {"largest": "10", "documents": "1"}))
    assert [row["domains"] for row in rows] == [10]
    assert "Letters a request" in EXPERIMENT.charts(rows, 1, {})["messages"]
