from __future__ import annotations

import math

import numpy as np

from cosched.coscheduler.problem_builder import ProfileMatrix, widened
from tests.coscheduler.makers import a_task


def test_tasks_that_are_added_keep_their_rows_and_times_become_as_wide_as_is_needed() -> None:
    rows = ProfileMatrix.none(("", "", ""), ({}, 0.5))
    rows.add([a_task(1, deadline=9.0)], [np.array([[5.0, math.inf, math.inf]])])
    assert rows.times.tolist() == [[[5.0]]]
    rows.add([a_task(3), a_task(2)], [np.array([[math.inf, 4.0, math.inf]]), np.full((1, 3), math.inf)])
    assert rows.row == {"1": 0, "3": 1, "2": 2}
    assert rows.times.tolist() == [[[5.0, math.inf], [math.inf, 4.0], [math.inf, math.inf]]]
    assert (rows.able.tolist(), rows.deadline.tolist()) == ([True, True, False], [9.0, math.inf, math.inf])


def test_a_task_is_able_only_where_a_class_that_can_run_it_has_enough_hosts() -> None:
    rows = ProfileMatrix.none(("fast", "slow", "slow"), ({}, 0.5))
    assert (rows.classes, rows.host_class.tolist()) == (("fast", "slow"), [0, 1, 1])
    on_two_fast = np.array([[math.inf, 1.0, math.inf], [math.inf] * 3])
    on_two_slow = on_two_fast[::-1]
    rows.add([a_task(1), a_task(2)], [on_two_fast, on_two_slow])
    assert rows.able.tolist() == [False, True]


def test_times_are_infinite_in_new_columns() -> None:
    times = np.ones((1, 2, 2))
    assert widened(times, 3).tolist() == [[[1.0, 1.0, math.inf]] * 2]
    assert widened(times, 2) is times
