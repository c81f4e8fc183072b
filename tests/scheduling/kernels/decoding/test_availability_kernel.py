"""Runs of windows in machine code; that it decodes as `windows` does is tested in `test_compiled`."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cosched.scheduling.availability import Unavailability
from cosched.scheduling.decoding.availability_windows import window_pools
from cosched.scheduling.kernels.decoding.availability_kernel import WindowTables, place_in_windows, tabulate_windows
from tests.scheduling.problems import a_problem, problems


def contents(windows: WindowTables) -> list[list[tuple[float, int]]]:
    """Return the runs of each pool, found to be ascending and within the pool's room."""
    room = np.append(0, windows.pools["tail"][:-1])
    assert np.all((room <= windows.pools["head"]) & (windows.pools["head"] < windows.pools["tail"]))
    found = []
    for pool in windows.pools:
        runs = windows.runs[pool["head"] : pool["tail"]]
        assert np.all(np.diff(runs["when"]) > 0)
        found.append([(float(run["when"]), int(run["hosts"])) for run in runs])
    return found


@settings(deadline=None)
@given(st.data())
def test_whatever_is_placed_the_windows_stay_as_many_in_runs_that_ascend(data: st.DataObject) -> None:
    problem = data.draw(problems(classes=1, unavailability=True))
    windows = tabulate_windows(problem)
    expected = [len(pool.free) for pool in window_pools(problem)] if problem.unavailability else []
    for _ in range(data.draw(st.integers(0, 12))):
        assert [sum(width for _, width in runs) for runs in contents(windows)] == expected
        windows.pools["seconds"] = data.draw(st.floats(0.1, 20.0))
        count, ready = data.draw(st.integers(1, len(problem.hosts) + 1)), data.draw(st.floats(0.0, 20.0))
        start, end = place_in_windows(windows.pools, windows.runs, count, ready)
        assert start >= ready
        assert (end == math.inf) == (start == math.inf)


def test_equal_free_times_are_one_run() -> None:
    problem = a_problem([[2.0]], hosts=3)
    windows = tabulate_windows(replace(problem, unavailability=(Unavailability(0, 5.0, 7.0),)))
    assert contents(windows) == [[(0.0, 1)], [(0.0, 2), (7.0, 1)]]
    windows.pools["seconds"] = 5.0
    assert place_in_windows(windows.pools, windows.runs, 2, 0.0) == (0.0, 5.0)
    assert contents(windows) == [[(5.0, 1)], [(0.0, 1), (5.0, 1), (7.0, 1)]]
    assert place_in_windows(windows.pools, windows.runs, 1, 2.0) == (2.0, 7.0)
    assert contents(windows) == [[(5.0, 1)], [(5.0, 1), (7.0, 2)]]


def test_where_all_hosts_stay_there_are_no_windows_to_keep() -> None:
    assert contents(tabulate_windows(a_problem([[2.0]]))) == []
