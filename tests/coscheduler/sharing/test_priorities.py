from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.coscheduler.edits import TaskEdit
from cosched.coscheduler.events import EditRequested, ScheduleImproved, SharesChanged
from cosched.coscheduler.planning.task_plan import TaskPlan
from cosched.coscheduler.sharing.shares import Shares
from cosched.scheduling.objective.weights import Weights
from tests.coscheduler.makers import a_core, a_task, complete, dispatched, start, submit

if TYPE_CHECKING:
    from cosched.coscheduler.changes import Outcome
    from cosched.coscheduler.core import Coscheduler


def crowd(core: Coscheduler, *tasks: tuple[str, int]) -> Outcome:
    """Have owners submit tasks of one host with priorities; return what the first led to."""
    outcomes = [submit(core, a_task(core.next_number, [10.0], owner=who, priority=given)) for who, given in tasks]
    return outcomes[0]


def run_all(core: Coscheduler, outcome: Outcome) -> list[str]:
    """Run tasks one after the other on the only host; return them in order."""
    names, time = [], 0.0
    while attempts := dispatched(outcome):
        (attempt,) = attempts
        names.append(attempt.task)
        start(core, attempt, time)
        time += 10.0
        outcome = complete(core, attempt, time - 10.0, time)
    return names


def test_a_users_tasks_leave_by_priority_in_the_places_that_they_have() -> None:
    core = a_core(1)
    first = crowd(core, ("ada", 0), ("ada", 0), ("bob", 0), ("ada", -1), ("bob", 0), ("ada", 5), ("bob", 0))
    assert run_all(core, first) == ["1", "6", "3", "2", "5", "4", "7"]


def test_under_shares_priorities_change_no_users_turn() -> None:
    core = a_core(1)
    core.handle(SharesChanged(0.0, Shares(half_life=1e9)))
    first = crowd(core, ("ada", 0), ("ada", 0), ("ada", 1), ("ada", 9), ("bob", 0), ("bob", -1), ("bob", 2))
    assert run_all(core, first) == ["1", "7", "4", "5", "3", "6", "2"]


def test_a_new_priority_counts_at_once() -> None:
    core = a_core(1)
    first = crowd(core, ("ada", 0), ("ada", 0), ("ada", 0))
    core.handle(EditRequested(1.0, "3", TaskEdit(priority=1), "ada"))
    assert run_all(core, first) == ["1", "3", "2"]


@pytest.mark.parametrize(("priority", "met"), [(1, "2"), (-1, "1")])
def test_of_a_users_deadlines_those_of_lower_priority_are_missed_first(priority: int, met: str) -> None:
    core = a_core(1, staging=100.0, margin=0.0, weights=Weights(deadlines_first=True))
    for number, given in ((1, 0), (2, priority)):
        submit(core, a_task(number, [10.0], owner="ada", deadline=15.0, priority=given))
    for order in (("1", "2"), ("2", "1")):
        core.handle(ScheduleImproved(1.0, TaskPlan(order, (1, 1)), settled=False))
    assert core.plan.tasks[0] == met


def test_a_priority_gains_nothing_over_other_users() -> None:
    core = a_core(1, staging=100.0)
    for number, (owner, given) in enumerate((("ada", 900), ("ada", 900), ("ada", 5), ("bob", 0), ("bob", -7)), 1):
        submit(core, a_task(number, [10.0], owner=owner, deadline=500.0, priority=given))
    problem = core.planning_view.problem(1.0)
    assert problem is not None
    assert problem.weight is not None
    weights = dict(zip(problem.tasks, problem.weight.tolist(), strict=True))
    assert weights == {"1": 1.0, "2": 1.0, "3": 0.5, "4": 1.0, "5": 0.5}
