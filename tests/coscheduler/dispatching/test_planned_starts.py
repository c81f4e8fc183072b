from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from cosched.coscheduler.events import HostsObserved, ScheduleImproved
from cosched.coscheduler.planning.task_plan import TaskPlan
from tests.coscheduler.makers import (
    a_core,
    a_task,
    dispatched,
    hosts,
    start,
    submit,
    under_plan,
)

if TYPE_CHECKING:
    from cosched.coscheduler.changes import Outcome
    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.task import Task


def test_a_blocked_head_does_not_block_the_queue() -> None:
    core, outcome = _planned(a_core(staging=100.0), [a_task(1, [math.inf, math.inf, 8.0])], [3])
    (running,) = dispatched(outcome)
    start(core, running, 0.0)
    # The head wants all four hosts in 8 s; the second fits on the idle host before that, the third does not.
    everything = [a_task(2, [math.inf, math.inf, math.inf, 5.0]), a_task(3, [20.0]), a_task(4, [7.0])]
    leaving = dispatched(_planned(core, everything, [4, 1, 1], time=0.5)[1])
    assert [(attempt.task, attempt.hosts) for attempt in leaving] == [("4", ("node04",))]


def test_a_task_that_needs_more_hosts_than_are_up_waits_aside() -> None:
    core = a_core(2)
    assert not dispatched(submit(core, a_task(1, [math.inf, math.inf, 5.0])))
    assert [attempt.task for attempt in dispatched(submit(core, a_task(2, [3.0])))] == ["2"]
    outcome = core.handle(HostsObserved(1.0, hosts(4)))
    assert [attempt.task for attempt in dispatched(outcome)] == ["1"]


def test_a_task_that_is_due_leaves_while_others_keep_arriving() -> None:
    core = a_core(staging=1.0)
    arrivals = [submit(core, a_task(number, submitted=0.1 * number), 0.1 * number) for number in range(1, 31)]
    leaving = [number for number, outcome in enumerate(arrivals, start=1) if dispatched(outcome)]
    assert leaving
    assert leaving[0] <= 14  # due at 1.1 s, the eleventh arrival


@pytest.mark.parametrize(
    ("policy", "order"), [("fcfs-maximum", [["1"], []]), ("fcfs-calculated", [["1", "2", "3"], ["1", "2", "3"]])]
)
def test_baselines_run_strictly_in_order_of_arrival(policy: str, order: list[list[str]]) -> None:
    core = a_core(4, policy=policy)
    leaving = [attempt.task for number in (1, 2, 3) for attempt in dispatched(submit(core, a_task(number)))]
    assert leaving == order[0]
    assert core.planning_view.snapshot(0.0) is None


def _planned(core: Coscheduler, tasks: list[Task], counts: list[int], time: float = 0.0) -> tuple[Coscheduler, Outcome]:
    """Submit tasks and have the core follow a plan of them."""
    for task in tasks:
        submit(core, task, time)
    plan = TaskPlan(tuple(task.id for task in tasks), tuple(counts))
    core = under_plan(core, plan)
    return core, core.handle(ScheduleImproved(time, plan))
