"""The peer for other objectives, on queues of which the best plan is plain to see."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cosched.scheduling.plan import Plan
from tests.scheduling.problems import a_problem

pytest.importorskip("ortools", reason="the extra exact is not installed")
from benchmarks.scheduling.peers.cp_sat_objectives import (  # loads OR-Tools
    least_slowdown,
    least_tardiness,
    shortest_with_as_many_on_time,
)


def test_the_shorter_task_goes_first_for_the_least_slowdown() -> None:
    problem = replace(a_problem([[20.0], [11.0]], hosts=1), waited=np.zeros(2))
    value, bound = least_slowdown(problem, 60.0)
    assert value == pytest.approx((1 + 31 / 20) / 2)
    assert bound == pytest.approx(value)
    assert bound <= value


def test_what_a_task_has_waited_counts() -> None:
    problem = replace(a_problem([[20.0], [11.0]], hosts=1), waited=np.array([400.0, 0.0]))
    assert least_slowdown(problem, 60.0).value == pytest.approx(((400 + 31) / 20 + 1) / 2)
    waited = replace(problem, waited=np.array([0.0, 400.0]))
    assert least_slowdown(waited, 60.0).value == pytest.approx((31 / 20 + 411 / 11) / 2)


def test_the_heavier_task_is_in_time() -> None:
    problem = replace(a_problem([[4.0], [3.0]], hosts=1, deadline=[4.0, 3.5]), weight=np.array([1.0, 5.0]))
    assert least_tardiness(problem, 60.0) == (3.0, 3.0)
    assert least_tardiness(replace(problem, weight=np.array([5.0, 1.0])), 60.0) == (3.5, 3.5)


@pytest.mark.parametrize(("due", "shortest"), [(4.0, 10.0), (3.0, 7.0)])
def test_as_many_tasks_are_on_time_as_in_the_plan(due: float, shortest: float) -> None:
    # On two hosts the first task is in time where it can be at all, and keeps the second one waiting.
    problem = a_problem([[7.0, 4.0], [6.0, 8.0]], hosts=2, deadline=[due, 10.0])
    plan = Plan(np.array([0, 1]), np.array([2, 1]))
    assert shortest_with_as_many_on_time(problem, plan, 60.0) == (shortest, shortest)
