"""The solver's model: what plain sums tell before it is asked, and what it is told of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.kernels import queue
from cosched.scheduling.exact.whole_problem import WholeProblem, whole_problem
from tests.scheduling.problems import a_problem

pytest.importorskip("ortools", reason="the extra exact is not installed")
from ortools.sat.python import cp_model

from cosched.scheduling.exact.model import chosen_plan, model_within  # loads OR-Tools


def whole(problem_seconds: list[list[float]], hosts: int = 2) -> WholeProblem:
    return whole_problem(a_problem(problem_seconds, hosts), 1.0)


def test_no_schedule_where_hosts_have_less_time_than_tasks_take_at_least() -> None:
    assert model_within(whole([[6.0], [6.0], [5.0]]), 8) is None  # 17 host-seconds of 16
    assert model_within(whole([[6.0], [6.0], [5.0]]), 9) is not None


def test_counts_that_leave_too_little_for_the_others_are_left_out() -> None:
    # 3 of 20 host-seconds are left above the least; two hosts take 4 more of the first task, 1 more of the second.
    built = model_within(whole([[10.0, 7.0], [7.0, 4.0]]), 10)
    assert built is not None
    assert [sorted(task.counts) for task in built[1]] == [[1], [1, 2]]


@pytest.mark.parametrize("image", [False, True])
def test_of_a_schedule_or_its_mirror_image_one_stays(image: bool) -> None:
    # Four ways without the limit; with it the single 3 s begin at 0, as they end before the middle then.
    problem = whole([[3.0], [5.0]], hosts=1)
    if image:
        problem = replace(problem, release=(1, 0))  # then the image is no schedule of the problem
    built = model_within(problem, 8)
    assert built is not None
    model, tasks = built
    solver = cp_model.CpSolver()
    assert solver.solve(model) == cp_model.OPTIMAL
    assert chosen_plan(solver, tasks).order.tolist() == ([1, 0] if image else [0, 1])


def test_the_solver_sees_how_much_host_time_is_needed_before_any_count_is_chosen() -> None:
    """Told whole host-times, it had not decided in a hundred times as much work that 55 s are too short."""
    built = model_within(whole_problem(queue(30, 16, 13), 56.0), 55)
    assert built is not None
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.linearization_level = 0
    solver.parameters.max_deterministic_time = 1.0  # its own seconds, which are work
    assert solver.solve(built[0]) == cp_model.INFEASIBLE
