from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling.bounds import lower_bound
from cosched.scheduling.decoding.decoder import decode
from cosched.scheduling.heuristics import moldable_tasks
from cosched.scheduling.heuristics.moldable_tasks import best_heuristic
from cosched.scheduling.objective.objective import measure, objective
from cosched.scheduling.objective.weights import Weights
from cosched.scheduling.schedule import check_schedule
from tests.scheduling.problems import a_problem, problems

if TYPE_CHECKING:
    from cosched.scheduling.problem import Problem

ALL = [
    moldable_tasks.two_phase,
    moldable_tasks.earliest_finish,
    moldable_tasks.longest_first,
    moldable_tasks.earliest_deadline_first,
    moldable_tasks.late_last,
]


@pytest.mark.parametrize("heuristic", ALL)
@given(problem=problems())
def test_every_heuristic_gives_a_feasible_schedule(heuristic: object, problem: Problem) -> None:
    assert callable(heuristic)
    assert check_schedule(problem, decode(problem, heuristic(problem))) == []


@given(problems(classes=1))
def test_two_phase_is_the_best_of_its_thresholds(problem: Problem) -> None:
    best = decode(problem, moldable_tasks.two_phase(problem)).makespan
    assert best == pytest.approx(
        min(decode(problem, plan).makespan for plan in moldable_tasks.threshold_plans(problem))
    )


def test_two_phase_makes_tasks_narrow_where_that_packs_them() -> None:
    problem = a_problem([[10.0, 6.0], [10.0, 6.0]])
    plan = moldable_tasks.two_phase(problem)
    assert plan.counts.tolist() == [1, 1]
    assert decode(problem, plan).makespan == 10.0


def test_earliest_finish_takes_tasks_as_they_came_and_the_smaller_of_equal_counts() -> None:
    plan = moldable_tasks.earliest_finish(a_problem([[10.0, 6.0], [4.0, 4.0]]))
    assert (plan.order.tolist(), plan.counts.tolist()) == ([0, 1], [2, 1])


def test_longest_first_orders_by_best_run_time() -> None:
    assert moldable_tasks.longest_first(a_problem([[3.0], [9.0, 5.0], [4.0]])).order.tolist() == [1, 2, 0]


def test_earliest_deadline_first_is_as_cheap_as_the_deadline_allows() -> None:
    problem = a_problem([[10.0, 6.0], [10.0, 6.0]], deadline=[30.0, 7.0])
    plan = moldable_tasks.earliest_deadline_first(problem)
    assert (plan.order.tolist(), plan.counts.tolist()) == ([1, 0], [1, 2])


def test_a_hopeless_task_is_not_hurried_at_the_others_cost() -> None:
    problem = a_problem([[10.0, 6.0], [10.0]], deadline=[1.0, 10.0])
    assert measure(problem, decode(problem, moldable_tasks.earliest_deadline_first(problem))).on_time == 1


def test_who_is_late_anyway_makes_room() -> None:
    # By deadlines a, b, c on one host: b cannot be in time behind a, and would make c late.
    problem = a_problem([[3.0], [3.0], [3.0]], hosts=1, deadline=[3.0, 5.0, 6.5])
    assert moldable_tasks.earliest_deadline_first(problem).order.tolist() == [0, 1, 2]
    assert moldable_tasks.late_last(problem).order.tolist() == [0, 2, 1]


def test_who_waits_for_a_late_task_is_behind_it() -> None:
    problem = a_problem([[3.0], [3.0], [3.0]], hosts=1, deadline=[1.0, 9.0, 9.0], depends_on=((), (0,), ()))
    assert moldable_tasks.late_last(problem).order.tolist() == [2, 0, 1]


@given(st.data())
def test_no_heuristic_is_better(data: st.DataObject) -> None:
    problem = data.draw(problems())
    plan, compared = best_heuristic(problem, Weights(), lambda: True)
    others = [
        moldable_tasks.two_phase(problem),
        moldable_tasks.earliest_deadline_first(problem),
        moldable_tasks.longest_first(problem),
        moldable_tasks.earliest_finish(problem),
    ]
    least, *costs = (
        objective(measure(problem, decode(problem, each)), Weights(), lower_bound(problem)) for each in [plan, *others]
    )
    assert least <= min(costs)
    assert compared > len(others)
    assert check_schedule(problem, decode(problem, plan)) == []


@given(problems())
def test_without_time_the_first_one_answers(problem: object) -> None:
    _, compared = best_heuristic(problem, Weights(), lambda: False)  # type: ignore[arg-type]
    assert compared == 1


def test_it_loads_no_compiler() -> None:
    """Compiling takes a dozen seconds; the heuristics answer where nothing has been compiled yet."""
    modules = "cosched.scheduling.policies, cosched.scheduling.heuristics.moldable_tasks"
    code = f"import sys, {modules}; sys.exit('numba' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=240)
