"""The peer's models: what they tell the solver holds, and helps it."""

from __future__ import annotations

import pytest

from benchmarks.kernels import queue
from tests.scheduling.problems import a_problem

pytest.importorskip("ortools", reason="the extra exact is not installed")
from ortools.sat.python import cp_model

from benchmarks.scheduling.peers.cp_sat import cp_sat
from benchmarks.scheduling.peers.cp_sat_models import makespan_model, on_time_model  # loads OR-Tools


def test_the_shortest_makespan_of_a_small_queue() -> None:
    answer = cp_sat(a_problem([[10.0, 6.0], [7.0, 4.0], [3.0, 2.0]], hosts=2), 60.0)
    assert answer is not None
    assert answer[:2] == (10, 10)  # 20 host-seconds at least, on two hosts


def test_the_most_tasks_in_time_of_a_small_queue() -> None:
    problem = a_problem([[6.0], [5.0], [2.0]], hosts=1, deadline=[6.0, 9.0, 8.0])
    answer = cp_sat(problem, 60.0, on_time=True)
    assert answer is not None
    assert answer[:2] == (2, 2)


def test_counts_that_leave_too_little_for_the_others_are_left_out() -> None:
    # 3 of 20 host-seconds are left above the least; two hosts take 4 more of the first task, 1 more of the second.
    model = makespan_model(a_problem([[10.0, 7.0], [7.0, 4.0]], hosts=2))
    assert [sorted(counts) for counts in model.counts] == [[1], [1, 2]]


@pytest.mark.parametrize("seed", range(1, 7))
def test_the_hint_is_a_plan_of_the_model(seed: int) -> None:
    """Of a schedule and its mirror image the model has one, which the heuristic's plan may not be."""
    for built in (makespan_model(queue(10, 4, seed)), on_time_model(queue(10, 4, seed, deadlines=True))):
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.fix_variables_to_their_hinted_value = True
        assert solver.solve(built.model) == cp_model.OPTIMAL
