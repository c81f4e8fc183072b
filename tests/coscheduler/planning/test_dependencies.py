from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from cosched.connector.jobs import JobState
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.events import CancelRequested, HostsObserved, TaskForwarded, Tick
from cosched.coscheduler.explanation.explain import explain
from cosched.coscheduler.planning.what_if import predict_placement
from cosched.coscheduler.task import TaskState
from cosched.scheduling.policies import POLICIES
from tests.coscheduler.makers import (
    a_core,
    a_task,
    complete,
    dispatched,
    hosts,
    report,
    restore,
    settings,
    start,
    submit,
)

if TYPE_CHECKING:
    from cosched.coscheduler.changes import Outcome


def ends(outcome: Outcome) -> dict[str, tuple[TaskState, str]]:
    return {
        task.id: (task.status.state, task.status.reason)
        for task in outcome.changes.tasks.values()
        if task.status.state.final
    }


def test_a_task_leaves_when_the_last_that_it_comes_after_has_completed() -> None:
    core = a_core(4)
    (first,) = dispatched(submit(core, a_task(1, [10.0])))
    (second,) = dispatched(submit(core, a_task(2, [20.0])))
    assert not dispatched(submit(core, a_task(3, [5.0], after=("1", "2"))))
    start(core, first, 0.0)
    start(core, second, 0.0)
    assert not dispatched(complete(core, first, 0.0, 10.0))
    assert [attempt.task for attempt in dispatched(complete(core, second, 0.0, 20.0))] == ["3"]


def test_a_chain_is_planned_ahead_behind_what_runs() -> None:
    core = a_core(4)
    (first,) = dispatched(submit(core, a_task(1, [10.0])))
    start(core, first, 0.0)
    submit(core, a_task(2, [5.0], after=("1",)), 4.0)
    submit(core, a_task(3, [3.0], after=("2",)), 4.0)
    problem, schedule = core.planning_view.forecast(4.0) or pytest.fail("nothing is planned")
    assert problem.depends_on == ((), (0,))
    assert {spot.task: (spot.start, spot.end) for spot in schedule.assignments} == {"2": (6.0, 11.0), "3": (11.0, 14.0)}


def test_hosts_do_not_stay_idle_for_a_task_that_must_wait_longer_than_was_thought() -> None:
    core = a_core(2)
    (first,) = dispatched(submit(core, a_task(1, [10.0])))
    start(core, first, 0.0)
    submit(core, a_task(2, [50.0], after=("1",)))
    (third,) = dispatched(submit(core, a_task(3, [0.5]), 30.0))  # the first is long overdue
    assert third.hosts == ("node02",)


@pytest.mark.parametrize(("state", "how"), [(JobState.FAILED, "failed"), (JobState.REMOVED, "was cancelled")])
def test_all_that_comes_after_a_task_that_did_not_complete_is_cancelled_and_says_why(state: JobState, how: str) -> None:
    core = a_core(4)
    (first,) = dispatched(submit(core, a_task(1)))
    for number, after in ((2, ("1",)), (3, ("1",)), (4, ("2", "3"))):
        submit(core, a_task(number, None if number == 3 else [5.0], after=after))
    ended = ends(report(core, first, state, 3.0, exit_code=3))
    assert ended.pop("1")[0] is not TaskState.COMPLETED
    assert ended == {
        "2": (TaskState.CANCELLED, f"task 1, which it was to come after, {how}"),
        "3": (TaskState.CANCELLED, f"task 1, which it was to come after, {how}"),
        "4": (TaskState.CANCELLED, "task 2, which it was to come after, was cancelled"),
    }
    assert not core.tasks


def test_a_chain_of_thousands_ends_at_once() -> None:
    """Ending one from the other would go too deep."""
    core = a_core(0)
    for number in range(1, 3001):
        submit(core, a_task(number, after=(str(number - 1),) if number > 1 else ()))
    assert len(ends(core.handle(CancelRequested(1.0, "1")))) == 3000


def test_a_task_without_a_model_waits_too() -> None:
    core = a_core(1)
    (first,) = dispatched(submit(core, a_task(1)))
    assert not dispatched(submit(core, a_task(2, None, after=("1",))))
    assert [attempt.task for attempt in dispatched(complete(core, first, 0.0, 5.0))] == ["2"]


def test_what_comes_after_a_task_without_a_model_is_planned_when_that_has_completed() -> None:
    core = a_core(2)
    (first,) = dispatched(submit(core, a_task(1, None)))
    submit(core, a_task(2, after=("1",)))
    submit(core, a_task(3, after=("2",)))
    assert core.planning_view.forecast(1.0) is None
    found = explain(core, "2", 1.0)
    assert found is not None
    assert found.waits_for == ("task 1 (t1, dispatching), which it comes after",)
    assert [attempt.task for attempt in dispatched(complete(core, first, 0.0, 5.0))] == ["2"]


def test_a_task_in_another_domain_is_waited_for() -> None:
    core = a_core(0)
    submit(core, a_task(1))
    core.handle(TaskForwarded(1.0, "1", "north", "it ends sooner there"))
    core.handle(HostsObserved(2.0, hosts(4)))
    assert not dispatched(submit(core, a_task(2, after=("1",)), 3.0))


def test_a_restart_keeps_the_order() -> None:
    former = a_core(2)
    (first,) = dispatched(submit(former, a_task(1, [10.0])))
    submit(former, a_task(2, [5.0], after=("1",)))
    (done,) = dispatched(submit(former, a_task(3, [5.0])))
    submit(former, a_task(4, [5.0], after=("3",)))
    complete(former, done, 0.0, 1.0)
    core = Coscheduler(settings())
    restore(core, 5.0, tasks=list(former.tasks.values())[::-1], attempts=former.attempts.values())
    core.handle(HostsObserved(5.0, hosts(2)))
    assert (core.predecessors("2"), core.predecessors("4")) == (("1",), ())
    assert "2" in ends(report(core, first, JobState.FAILED, 6.0, exit_code=1))


@pytest.mark.parametrize("policy", sorted(name for name, policy in POLICIES.items() if not policy.reshapes))
def test_every_policy_keeps_to_the_order_and_lets_others_pass(policy: str) -> None:
    core = a_core(2, policy=policy, staging=0.0)
    (first,) = dispatched(submit(core, a_task(1, [10.0])))
    start(core, first, 0.0)
    assert not dispatched(submit(core, a_task(2, [5.0], after=("1",)), 1.0))
    assert [attempt.task for attempt in dispatched(submit(core, a_task(3, [5.0]), 1.0))] == ["3"]
    core.handle(Tick(2.0))
    assert [attempt.task for attempt in dispatched(complete(core, first, 0.0, 10.0))] == ["2"]


def test_what_it_would_change_to_be_first_reckons_with_those_before_it() -> None:
    core = a_core(1, staging=100.0)
    submit(core, a_task(1, [10.0]))
    submit(core, a_task(2, [10.0]))
    submit(core, a_task(3, [5.0], after=("2",)))
    found = explain(core, "3", 0.0)
    assert found is not None
    assert (found.planned_start, found.would_change) == (20.0, ("first in the queue it would end 10 s earlier",))


@pytest.mark.parametrize(("after", "where"), [((), 0.0), (("1",), 10.0), (("2",), 16.0), (("3",), None), (("9",), 0.0)])
def test_the_place_of_a_new_task_is_behind_those_it_comes_after(after: tuple[str, ...], where: float | None) -> None:
    core = a_core(3)
    (first,) = dispatched(submit(core, a_task(1, [10.0])))
    start(core, first, 0.0)
    submit(core, a_task(2, [6.0], after=("1",)))
    submit(core, a_task(3, [math.inf] * 3 + [6.0]))  # more hosts than there are
    spot = predict_placement(core, a_task(4, [5.0], after=after), 0.0)
    assert (None if spot is None else spot.start) == where
