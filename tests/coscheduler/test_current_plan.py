from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.coscheduler.current_plan import CurrentPlan, PlanningAssumptions, initial_host_counts
from cosched.prediction.calibration import Correction
from tests.coscheduler.makers import a_task

if TYPE_CHECKING:
    from cosched.coscheduler.task import Task


@pytest.mark.parametrize(("slack", "count"), [(math.inf, 1), (10.0, 1), (6.0, 2), (4.5, 4), (1.0, 4)])
def test_the_first_count_wastes_least_within_the_deadline(slack: float, count: int) -> None:
    assert initial_host_counts(np.array([[10.0, 6.0, 5.0, 4.0]]), np.array([slack])).tolist() == [count]


def _waiting(*tasks: int) -> CurrentPlan:
    waiting = CurrentPlan()
    for task in tasks:
        waiting.add(str(task))
    return waiting


def test_the_problem_has_corrected_times_and_slacks_from_now() -> None:
    waiting = _waiting(1)
    task = a_task(1, [10.0, 6.0], deadline=130.0)
    assumptions = PlanningAssumptions({"app/test": Correction(2.0, 1)}, held_back={"1": 101.0})
    problem = waiting.problem({"1": task}, ["a", "b", "c"], {"b": 104.0}, 100.0, assumptions)
    assert problem is not None
    assert problem.seconds.tolist() == [[[20.0, 12.0, math.inf]]]
    assert (problem.free.tolist(), problem.deadline.tolist(), problem.release.tolist()) == ([0, 4, 0], [30], [1])


def test_times_that_happen_to_be_whole_leave_the_problem_with_fractions() -> None:
    """The machine code would be compiled again for whole numbers, and would cut the ends of tasks off to such."""
    problem = _waiting(1).problem({"1": a_task(1, [10.0])}, ["a", "b"], {"b": 104}, 100)
    assert problem is not None
    assert problem.free.dtype == np.float64


def test_a_task_that_no_present_host_can_run_is_left_out() -> None:
    waiting = _waiting(1, 2)
    tasks = {"1": a_task(1, [math.inf, 5.0]), "2": a_task(2, [1.0])}
    problem = waiting.problem(tasks, ["a"], {}, 0.0)
    assert problem is not None
    assert problem.tasks == ("2",)
    assert waiting.problem(tasks, [], {}, 0.0) is None


@pytest.mark.parametrize("widths", [(1, 3, 2), (3, 1, 1), (2, 2, 4)])
def test_tasks_that_arrive_one_by_one_make_the_problem_that_they_make_together(widths: tuple[int, ...]) -> None:
    """Times are kept up to the widest count of those that were there before."""
    tasks = {str(number): a_task(number, [9.0 - n for n in range(width)]) for number, width in enumerate(widths)}
    hosts, assumptions = ["a", "b", "c", "d"], PlanningAssumptions(handover=1.0)
    waiting = _waiting()
    for task in tasks:
        waiting.add(task)
        found = waiting.problem(tasks, hosts, {}, 0.0, assumptions)
    together = _waiting(*range(len(widths))).problem(tasks, hosts, {}, 0.0, assumptions)
    assert found is not None
    assert together is not None
    assert found.seconds.tolist() == together.seconds.tolist()
    assert [np.isfinite(row).sum() for row in found.seconds[0]] == list(widths)


def test_a_proposed_order_keeps_what_it_does_not_name_behind() -> None:
    waiting = _waiting(1, 2, 3)
    assert list(waiting.reordered(["3", "gone"], [2, 1])) == ["3", "1", "2"]


def test_a_count_that_is_not_possible_any_more_is_chosen_anew() -> None:
    waiting = _waiting(1)
    waiting.counts["1"] = 4
    problem = waiting.problem({"1": a_task(1)}, ["a", "b"], {}, 0.0)
    assert problem is not None
    assert waiting.plan(problem).counts.tolist() == [1]


def test_a_task_that_comes_back_goes_first() -> None:
    waiting = _waiting(1, 2)
    waiting.add_first("3")
    assert list(waiting.counts) == ["3", "1", "2"]
    waiting.remove("1")
    assert list(waiting.counts) == ["3", "2"]


def test_plans_aim_to_be_early_by_a_share_of_the_time_left_but_not_once_it_is_too_late() -> None:
    waiting = _waiting(1, 2)
    tasks = {"1": a_task(1, deadline=120.0), "2": a_task(2, deadline=90.0)}
    problem = waiting.problem(tasks, ["a"], {}, 100.0, PlanningAssumptions(margin=0.1))
    assert problem is not None
    assert problem.deadline.tolist() == [18.0, -10.0]


def test_run_times_follow_what_they_are_made_of() -> None:
    waiting = _waiting(1, 2)
    tasks = {"1": a_task(1, [4.0], deadline=90.0), "2": a_task(2, [math.inf, 8.0]), "3": a_task(3, [2.0])}

    def times(
        assumptions: PlanningAssumptions | None = None, now: float = 0.0, hosts: int = 2
    ) -> dict[str, list[float]]:
        problem = waiting.problem(tasks, ["a", "b"][:hosts], {}, now, assumptions)
        assert problem is not None
        assert problem.deadline.tolist() == [90.0 - now if name == "1" else math.inf for name in problem.tasks]
        return dict(zip(problem.tasks, problem.seconds[0].tolist(), strict=True))

    assert times() == times(now=5.0) == {"1": [4.0, math.inf], "2": [math.inf, 8.0]}
    waiting.add_first("3")
    assert times() == {"3": [2.0, math.inf], "1": [4.0, math.inf], "2": [math.inf, 8.0]}
    assert times(PlanningAssumptions(handover=1.0)) == {
        "3": [3.0, math.inf],
        "1": [5.0, math.inf],
        "2": [math.inf, 9.0],
    }
    waiting.remove("3")
    tasks["3"] = a_task(3, [7.0])  # it comes back with another prediction
    waiting.add("3")
    assert times() == {"1": [4.0, math.inf], "2": [math.inf, 8.0], "3": [7.0, math.inf]}
    assert times(PlanningAssumptions({"app/test": Correction(2.0, 1)}))["1"] == [8.0, math.inf]
    assert times(hosts=1) == {"1": [4.0], "3": [7.0]}


def test_a_task_that_comes_back_to_its_place_has_its_new_prediction() -> None:
    """The queue was the same as before, and so what was known of it was taken."""
    waiting, tasks = _waiting(1, 2), {"1": a_task(1, [4.0]), "2": a_task(2, [5.0])}
    assert waiting.problem(tasks, ["a"], {}, 0.0) is not None
    waiting.remove("2")
    tasks["2"] = a_task(2, [7.0])
    waiting.add("2")
    problem = waiting.problem(tasks, ["a"], {}, 0.0)
    assert problem is not None
    assert problem.seconds.tolist() == [[[4.0], [7.0]]]


@given(
    st.lists(
        st.tuples(st.sampled_from(["add", "first", "leave", "sort", "hosts", "learn"]), st.integers(1, 9)), max_size=40
    )
)
def test_what_is_kept_of_tasks_makes_the_problem_that_is_made_anew(steps: list[tuple[str, int]]) -> None:
    waiting, hosts, assumptions = _waiting(), ["a", "b", "c"], PlanningAssumptions()
    tasks: dict[str, Task] = {}
    for step, (what, number) in enumerate(steps):
        name = str(number)
        match what:
            case "add" | "first" if name not in waiting:
                profile = [math.inf, 9.0 + step] if number % 3 else [4.0 + step] * (1 + number // 3)
                tasks[name] = a_task(number, profile, deadline=20.0 + step if number % 2 else None)
                waiting.add(name) if what == "add" else waiting.add_first(name)
            case "leave":
                waiting.remove(name)
            case "sort":
                waiting.counts = waiting.reordered(sorted(waiting.counts, reverse=True), [1] * len(waiting))
            case "hosts":
                hosts = ["a", "b", "c", "d"][: 1 + number // 3]
            case "learn":
                assumptions = PlanningAssumptions({"app/test": Correction(1.0 + number, 1)}, handover=float(number))
        found = waiting.problem(tasks, hosts, {}, 0.0, assumptions)
        anew = _waiting(*map(int, waiting.counts)).problem(tasks, hosts, {}, 0.0, assumptions)
        assert (found is None) == (anew is None)
        if found is not None and anew is not None:
            assert found.tasks == anew.tasks
            assert found.seconds.tolist() == anew.seconds.tolist()
            assert found.deadline.tolist() == anew.deadline.tolist()
