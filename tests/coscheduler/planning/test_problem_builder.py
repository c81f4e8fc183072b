from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.coscheduler.places.contention import ExpectedContention
from cosched.coscheduler.planning.problem_builder import PlanningAssumptions, ProblemBuilder, ProfileMatrix, widened
from cosched.prediction.calibration import Correction
from tests.coscheduler.makers import a_task

if TYPE_CHECKING:
    from cosched.coscheduler.task import Task


def test_the_problem_has_corrected_times_and_slacks_from_now() -> None:
    task = a_task(1, [10.0, 6.0], deadline=130.0)
    assumptions = PlanningAssumptions({"app/test": Correction(2.0, 1)}, held_back={"1": 101.0})
    problem = ProblemBuilder().build(("1",), {"1": task}, ["a", "b", "c"], {"b": 104.0}, 100.0, assumptions)
    assert problem is not None
    assert problem.seconds.tolist() == [[[20.0, 12.0, math.inf]]]
    assert (problem.free.tolist(), problem.deadline.tolist(), problem.release.tolist()) == ([0, 4, 0], [30], [1])


def test_times_that_happen_to_be_whole_leave_the_problem_with_fractions() -> None:
    """The machine code would be compiled again for whole numbers, and would cut the ends of tasks off to such."""
    problem = ProblemBuilder().build(("1",), {"1": a_task(1, [10.0])}, ["a", "b"], {"b": 104}, 100)
    assert problem is not None
    assert problem.free.dtype == np.float64


def test_a_task_that_no_present_host_can_run_is_left_out() -> None:
    builder = ProblemBuilder()
    tasks = {"1": a_task(1, [math.inf, 5.0]), "2": a_task(2, [1.0])}
    problem = builder.build(("1", "2"), tasks, ["a"], {}, 0.0)
    assert problem is not None
    assert problem.tasks == ("2",)
    assert builder.build(("1", "2"), tasks, [], {}, 0.0) is None


@pytest.mark.parametrize("widths", [(1, 3, 2), (3, 1, 1), (2, 2, 4)])
def test_tasks_that_arrive_one_by_one_make_the_problem_that_they_make_together(widths: tuple[int, ...]) -> None:
    """Times are kept up to the widest count of those that were there before."""
    tasks = {str(number): a_task(number, [9.0 - n for n in range(width)]) for number, width in enumerate(widths)}
    hosts, assumptions = ["a", "b", "c", "d"], PlanningAssumptions(handover=1.0)
    builder = ProblemBuilder()
    for arrived in range(1, len(tasks) + 1):
        found = builder.build(tuple(tasks)[:arrived], tasks, hosts, {}, 0.0, assumptions)
    together = ProblemBuilder().build(tuple(tasks), tasks, hosts, {}, 0.0, assumptions)
    assert found is not None
    assert together is not None
    assert found.seconds.tolist() == together.seconds.tolist()
    assert [np.isfinite(row).sum() for row in found.seconds[0]] == list(widths)


def test_plans_aim_to_be_early_by_a_share_of_the_time_left_but_not_once_it_is_too_late() -> None:
    tasks = {"1": a_task(1, deadline=120.0), "2": a_task(2, deadline=90.0)}
    problem = ProblemBuilder().build(("1", "2"), tasks, ["a"], {}, 100.0, PlanningAssumptions(margin=0.1))
    assert problem is not None
    assert problem.deadline.tolist() == [18.0, -10.0]


def test_run_times_follow_what_they_are_made_of() -> None:
    builder = ProblemBuilder()
    tasks = {"1": a_task(1, [4.0], deadline=90.0), "2": a_task(2, [math.inf, 8.0]), "3": a_task(3, [2.0])}

    def times(
        waiting: str, assumptions: PlanningAssumptions | None = None, now: float = 0.0, hosts: int = 2
    ) -> dict[str, list[float]]:
        problem = builder.build(tuple(waiting), tasks, ["a", "b"][:hosts], {}, now, assumptions)
        assert problem is not None
        assert problem.deadline.tolist() == [90.0 - now if name == "1" else math.inf for name in problem.tasks]
        return dict(zip(problem.tasks, problem.seconds[0].tolist(), strict=True))

    assert times("12") == times("12", now=5.0) == {"1": [4.0, math.inf], "2": [math.inf, 8.0]}
    assert times("312") == {"3": [2.0, math.inf], "1": [4.0, math.inf], "2": [math.inf, 8.0]}
    assert times("312", PlanningAssumptions(handover=1.0)) == {
        "3": [3.0, math.inf],
        "1": [5.0, math.inf],
        "2": [math.inf, 9.0],
    }
    builder.forget("3")
    tasks["3"] = a_task(3, [7.0])  # it comes back with another prediction
    assert times("123") == {"1": [4.0, math.inf], "2": [math.inf, 8.0], "3": [7.0, math.inf]}
    assert times("123", PlanningAssumptions({"app/test": Correction(2.0, 1)}))["1"] == [8.0, math.inf]
    assert times("123", hosts=1) == {"1": [4.0], "3": [7.0]}


def test_a_task_that_comes_back_to_its_place_has_its_new_prediction() -> None:
    """The queue was the same as before, and so what was known of it was taken."""
    builder, tasks = ProblemBuilder(), {"1": a_task(1, [4.0]), "2": a_task(2, [5.0])}
    assert builder.build(("1", "2"), tasks, ["a"], {}, 0.0) is not None
    builder.forget("2")
    tasks["2"] = a_task(2, [7.0])
    problem = builder.build(("1", "2"), tasks, ["a"], {}, 0.0)
    assert problem is not None
    assert problem.seconds.tolist() == [[[4.0], [7.0]]]


@given(
    st.lists(
        st.tuples(st.sampled_from(["add", "first", "leave", "sort", "hosts", "learn"]), st.integers(1, 9)), max_size=40
    )
)
def test_what_is_kept_of_tasks_makes_the_problem_that_is_made_anew(steps: list[tuple[str, int]]) -> None:
    waiting: tuple[str, ...] = ()
    builder, hosts, assumptions = ProblemBuilder(), ["a", "b", "c"], PlanningAssumptions()
    tasks: dict[str, Task] = {}
    for step, (what, number) in enumerate(steps):
        name = str(number)
        match what:
            case "add" | "first" if name not in waiting:
                profile = [math.inf, 9.0 + step] if number % 3 else [4.0 + step] * (1 + number // 3)
                tasks[name] = a_task(number, profile, deadline=20.0 + step if number % 2 else None)
                waiting = (*waiting, name) if what == "add" else (name, *waiting)
            case "leave":
                waiting = tuple(each for each in waiting if each != name)
                builder.forget(name)
            case "sort":
                waiting = tuple(sorted(waiting, reverse=True))
            case "hosts":
                hosts = ["a", "b", "c", "d"][: 1 + number // 3]
            case "learn":
                assumptions = PlanningAssumptions({"app/test": Correction(1.0 + number, 1)}, handover=float(number))
        found = builder.build(waiting, tasks, hosts, {}, 0.0, assumptions)
        anew = ProblemBuilder().build(waiting, tasks, hosts, {}, 0.0, assumptions)
        assert (found is None) == (anew is None)
        if found is not None and anew is not None:
            assert found.tasks == anew.tasks
            assert found.seconds.tolist() == anew.seconds.tolist()
            assert found.deadline.tolist() == anew.deadline.tolist()


def test_tasks_that_are_added_keep_their_rows_and_times_become_as_wide_as_is_needed() -> None:
    rows = ProfileMatrix.none(("", "", ""), ({}, 0.5, {}, None, {}, ExpectedContention(), {}))
    rows.add([a_task(1, deadline=9.0)], [np.array([[5.0, math.inf, math.inf]])])
    assert rows.times.tolist() == [[[5.0]]]
    rows.add([a_task(3), a_task(2)], [np.array([[math.inf, 4.0, math.inf]]), np.full((1, 3), math.inf)])
    assert rows.row == {"1": 0, "3": 1, "2": 2}
    assert rows.times.tolist() == [[[5.0, math.inf], [math.inf, 4.0], [math.inf, math.inf]]]
    assert (rows.able.tolist(), rows.deadline.tolist()) == ([True, True, False], [9.0, math.inf, math.inf])


def test_a_task_is_able_only_where_a_class_that_can_run_it_has_enough_hosts() -> None:
    rows = ProfileMatrix.none(("fast", "slow", "slow"), ({}, 0.5, {}, None, {}, ExpectedContention(), {}))
    assert (rows.classes, rows.host_class.tolist()) == (("fast", "slow"), [0, 1, 1])
    on_two_fast = np.array([[math.inf, 1.0, math.inf], [math.inf] * 3])
    on_two_slow = on_two_fast[::-1]
    rows.add([a_task(1), a_task(2)], [on_two_fast, on_two_slow])
    assert rows.able.tolist() == [False, True]


def test_times_are_infinite_in_new_columns() -> None:
    times = np.ones((1, 2, 2))
    assert widened(times, 3).tolist() == [[[1.0, 1.0, math.inf]] * 2]
    assert widened(times, 2) is times
