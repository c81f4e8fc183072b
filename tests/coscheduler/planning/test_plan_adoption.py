from __future__ import annotations

from cosched.coscheduler.events import ScheduleImproved
from cosched.coscheduler.planning.task_plan import TaskPlan
from tests.coscheduler.makers import (
    a_core,
    a_task,
    dispatched,
    submit,
    under_plan,
)


def test_a_plan_of_the_search_ends_staging_and_gives_order_and_counts() -> None:
    core = a_core(staging=100.0)
    submit(core, a_task(1))
    submit(core, a_task(2))
    outcome = core.handle(ScheduleImproved(0.1, TaskPlan(("2", "1"), (2, 2))))
    assert [(attempt.task, attempt.hosts) for attempt in dispatched(outcome)] == [
        ("2", ("node01", "node02")),
        ("1", ("node03", "node04")),
    ]


def test_a_first_answer_that_is_not_settled_does_not_end_staging() -> None:
    core = a_core(staging=100.0)
    submit(core, a_task(1))
    submit(core, a_task(2))
    assert not dispatched(core.handle(ScheduleImproved(0.1, TaskPlan(("2", "1"), (2, 2)), settled=False)))
    assert core.plan == TaskPlan(("2", "1"), (2, 2))


def test_a_worse_plan_is_not_taken_over() -> None:
    core = a_core(staging=100.0)
    for number in (1, 2):
        submit(core, a_task(number))
    core = under_plan(core, TaskPlan(("1", "2"), (2, 2)))
    outcome = core.handle(ScheduleImproved(0.1, TaskPlan(("1", "2"), (1, 1))))
    assert [len(attempt.hosts) for attempt in dispatched(outcome)] == [2, 2]
    assert core.last_improvement is None


def test_a_better_plan_says_what_became_better() -> None:
    core = a_core(staging=100.0)
    for number in (1, 2):
        submit(core, a_task(number))
    core = under_plan(core, TaskPlan(("1", "2"), (1, 1)))
    core.handle(ScheduleImproved(0.1, TaskPlan(("1", "2"), (2, 2)), settled=False))
    assert core.last_improvement is not None
    assert core.last_improvement[0] == 0.1
    assert core.last_improvement[1].startswith("makespan ")
