from __future__ import annotations

import math

import numpy as np
import pytest

from cosched.coscheduler.waiting import Outlook, Waiting, first_counts
from cosched.prediction.feedback import Correction
from tests.coscheduler.makers import a_task


@pytest.mark.parametrize(("slack", "count"), [(math.inf, 1), (10.0, 1), (6.0, 2), (4.5, 4), (1.0, 4)])
def test_the_first_count_wastes_least_within_the_deadline(slack: float, count: int) -> None:
    assert first_counts(np.array([[10.0, 6.0, 5.0, 4.0]]), np.array([slack])).tolist() == [count]


def _waiting(*tasks: int) -> Waiting:
    waiting = Waiting()
    for task in tasks:
        waiting.add(str(task))
    return waiting


def test_the_problem_has_corrected_times_and_slacks_from_now() -> None:
    waiting = _waiting(1)
    task = a_task(1, [10.0, 6.0], deadline=130.0)
    outlook = Outlook({"app/test": Correction(2.0, 1)}, held_back={"1": 101.0})
    problem = waiting.problem({"1": task}, ["a", "b", "c"], {"b": 104.0}, 100.0, outlook)
    assert problem is not None
    assert problem.seconds.tolist() == [[[20.0, 12.0, math.inf]]]
    assert (problem.free.tolist(), problem.deadline.tolist(), problem.release.tolist()) == ([0, 4, 0], [30], [1])


def test_a_task_that_no_present_host_can_run_is_left_out() -> None:
    waiting = _waiting(1, 2)
    tasks = {"1": a_task(1, [math.inf, 5.0]), "2": a_task(2, [1.0])}
    problem = waiting.problem(tasks, ["a"], {}, 0.0)
    assert problem is not None
    assert problem.tasks == ("2",)
    assert waiting.problem(tasks, [], {}, 0.0) is None


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
    problem = waiting.problem(tasks, ["a"], {}, 100.0, Outlook(margin=0.1))
    assert problem is not None
    assert problem.deadline.tolist() == [18.0, -10.0]


def test_what_does_not_change_with_the_time_is_put_together_once_for_a_queue() -> None:
    waiting, tasks = _waiting(1, 2), {"1": a_task(1, deadline=90.0), "2": a_task(2), "3": a_task(3)}
    first = waiting.problem(tasks, ["a", "b"], {}, 0.0)
    later = waiting.problem(tasks, ["a", "b"], {}, 5.0)
    assert first is not None
    assert later is not None
    assert later.seconds is first.seconds
    assert later.deadline.tolist() == [85.0, math.inf]
    waiting.add("3")
    longer = waiting.problem(tasks, ["a", "b"], {}, 5.0)
    corrected = waiting.problem(tasks, ["a", "b"], {}, 5.0, Outlook({"app/test": Correction(2.0, 1)}))
    assert longer is not None
    assert corrected is not None
    assert longer.tasks == ("1", "2", "3")
    assert corrected.seconds.tolist() == (2 * longer.seconds).tolist()
