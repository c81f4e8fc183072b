from __future__ import annotations

import math

import numpy as np
import pytest

from cosched.coscheduler.planning.problem_builder import ProblemBuilder
from cosched.coscheduler.planning.task_plan import TaskPlan, initial_host_counts
from tests.coscheduler.makers import a_task, on_both

PLAN = TaskPlan(("1", "2", "3"), (1, 2, 3), ("slow", "", "fast"))


@pytest.mark.parametrize(("slack", "count"), [(math.inf, 1), (10.0, 1), (6.0, 2), (4.5, 4), (1.0, 4)])
def test_the_first_count_wastes_least_within_the_deadline(slack: float, count: int) -> None:
    assert initial_host_counts(np.array([[10.0, 6.0, 5.0, 4.0]]), np.array([slack])).tolist() == [count]


def test_a_proposed_plan_keeps_what_it_does_not_name_behind_on_hosts_of_any_class() -> None:
    proposed = TaskPlan(("3", "gone"), (2, 1), ("slow", "slow"))
    assert PLAN.replanned(proposed) == TaskPlan(("3", "1", "2"), (2, 1, 2), ("slow", "", ""))


def test_a_proposed_plan_of_the_same_tasks_is_taken_as_it_is() -> None:
    proposed = TaskPlan(("3", "1", "2"), (1, 1, 1))
    assert PLAN.replanned(proposed) is proposed


def test_counts_change_for_named_tasks_alone() -> None:
    assert PLAN.with_counts({"2": 5, "gone": 7}).counts == (1, 5, 3)


def test_plans_that_say_the_same_are_equal() -> None:
    assert TaskPlan(("1",), (1,), ("",)) == TaskPlan(("1",), (1,))


@pytest.mark.parametrize("fields", [(("1",), ()), (("1",), (1, 2)), (("1", "2"), (1, 2), ("fast",))])
def test_a_plan_with_something_left_out_is_refused(fields: tuple[tuple[str, ...], ...]) -> None:
    with pytest.raises(ValueError, match="one host count and one class for each task"):
        TaskPlan(*fields)  # type: ignore[arg-type]  # the numbers of counts matter here


def test_a_count_that_is_not_possible_any_more_is_chosen_anew() -> None:
    problem = ProblemBuilder().build(("1",), {"1": a_task(1)}, ["a", "b"], {}, 0.0)
    assert problem is not None
    assert TaskPlan(("1",), (4,)).for_problem(problem).counts.tolist() == [1]


def test_a_problem_and_back_keeps_order_counts_and_the_classes_that_can_be_had() -> None:
    tasks = {str(number): on_both(number, [4.0, 3.0], [9.0, 8.0]) for number in (1, 2, 3)}
    classes = {"a": "fast", "b": "slow", "c": "slow"}
    problem = ProblemBuilder().build(("2", "3", "1"), tasks, list(classes), {}, 0.0, classes=classes)
    assert problem is not None
    plan = TaskPlan(("1", "2", "3"), (2, 1, 2), ("slow", "fast", "fast"))
    there = plan.for_problem(problem)
    assert TaskPlan.of(problem, there) == TaskPlan(("1", "2", "3"), (2, 1, 2), ("slow", "fast", ""))
