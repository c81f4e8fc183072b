from __future__ import annotations

import math

import pytest

from cosched.coscheduler.edits import HostChoice, TaskEdit, why_unchangeable
from cosched.coscheduler.events import (
    CancelRequested,
    EditRequested,
    HoldRequested,
    HostsObserved,
    ReleaseRequested,
    TaskForwarded,
    Tick,
)
from cosched.coscheduler.explanation.explain import explain
from cosched.coscheduler.task import TaskState
from cosched.prediction.profile import PredictionSource, Profile
from tests.coscheduler.makers import a_core, a_task, complete, dispatched, hosts, restore, start, submit
from tests.tasks import make_task


@pytest.mark.parametrize("seconds", [[10.0], None])
def test_a_held_task_stays_until_it_is_released(seconds: list[float] | None) -> None:
    core = a_core()
    (attempt,) = dispatched(submit(core, a_task(1, [10.0])))
    submit(core, a_task(2, seconds, after=("1",)))
    core.handle(HoldRequested(1.0, "2", "ann"))
    start(core, attempt, 0.0)
    assert not dispatched(complete(core, attempt, 0.0, 8.0))
    assert not dispatched(core.handle(Tick(9.0)))
    assert core.planning_view.forecast(9.0) is None
    (attempt,) = dispatched(core.handle(ReleaseRequested(10.0, "2", "ann")))
    assert attempt.task == "2"


def test_a_held_task_says_who_holds_it() -> None:
    core = a_core(staging=1.0)
    submit(core, a_task(1))
    core.handle(HoldRequested(0.5, "1", "ann"))
    found = explain(core, "1", 1.0)
    assert found is not None
    assert found.waits_for == ("its release: ann holds it (`cosched task release 1`)",)


@pytest.mark.parametrize("seconds", [[10.0], None])
def test_a_task_starts_at_its_begin_and_is_planned_from_then(seconds: list[float] | None) -> None:
    core = a_core(1)
    assert not dispatched(submit(core, a_task(1, seconds, begin=20.0)))
    assert not dispatched(core.handle(Tick(19.9)))
    found = explain(core, "1", 5.0)
    assert found is not None
    assert found.waits_for[0] == "the time from which it may start, in 15 s"
    assert found.planned_start == (None if seconds is None else 20.0)
    (short,) = dispatched(submit(core, a_task(2, [4.0]), 6.0))  # its host is no one's until then
    start(core, short, 6.0)
    assert not dispatched(complete(core, short, 6.0, 10.0))
    assert [attempt.task for attempt in dispatched(core.handle(Tick(20.0)))] == ["1"]


def test_nothing_starts_that_would_run_into_a_begin_that_is_planned_for() -> None:
    core = a_core(1)
    submit(core, a_task(1, [10.0], begin=20.0, deadline=31.0))
    assert not dispatched(submit(core, a_task(2, [25.0]), 5.0))
    found = explain(core, "2", 6.0)
    assert found is not None
    assert found.planned_start == 30.0


def test_a_begin_is_changed_and_holds_after_a_restart() -> None:
    core = a_core(1)
    submit(core, a_task(1, begin=20.0))
    core.handle(EditRequested(1.0, "1", TaskEdit(begin=40.0), "ann"))
    assert not dispatched(core.handle(Tick(30.0)))
    again = a_core(1)
    restore(again, 30.0, tasks=[core.tasks["1"]])
    again.handle(HostsObserved(31.0, hosts(1)))
    assert not dispatched(again.handle(Tick(32.0)))
    assert dispatched(again.handle(EditRequested(33.0, "1", TaskEdit(begin=0.0), "ann")))
    assert again.tasks["1"].spec.begin is None


def test_a_task_that_has_left_is_neither_held_nor_edited() -> None:
    core = a_core()
    (attempt,) = dispatched(submit(core, a_task(1)))
    start(core, attempt, 0.1)
    assert not core.handle(HoldRequested(0.5, "1", "ann")).changes
    assert not core.handle(EditRequested(0.6, "1", TaskEdit(deadline=99.0), "ann")).changes
    assert "has left the queue (running)" in why_unchangeable(core.tasks["1"])


def test_a_held_task_is_held_after_a_restart() -> None:
    core = a_core()
    restore(core, 0.0, tasks=[a_task(1, held_by="ann")])
    core.handle(HostsObserved(1.0, hosts(4)))
    assert not dispatched(core.handle(Tick(9.0)))
    assert dispatched(core.handle(ReleaseRequested(10.0, "1", "ann")))


def test_a_held_task_is_not_handed_over() -> None:
    core = a_core(staging=1.0)
    submit(core, a_task(1, deadline=5.0))
    core.handle(HoldRequested(0.5, "1", "ann"))
    assert not core.handle(TaskForwarded(0.6, "1", "east", "sooner")).changes


def test_a_held_task_is_cancelled_and_what_comes_after_it_too() -> None:
    core = a_core(staging=1.0)
    submit(core, a_task(1))
    submit(core, a_task(2, after=("1",)))
    core.handle(HoldRequested(0.5, "1", "ann"))
    outcome = core.handle(CancelRequested(2.0, "1"))
    assert [task.status.state for task in outcome.changes.tasks.values()] == [TaskState.CANCELLED] * 2


def test_a_new_deadline_gives_a_task_another_place_in_the_plan() -> None:
    core = a_core(1, staging=100.0, margin=0.0)
    for number, due in ((1, 500.0), (2, 600.0)):
        submit(core, a_task(number, [10.0], deadline=due))
    assert core.plan.tasks == ("1", "2")
    core.handle(EditRequested(1.0, "2", TaskEdit(deadline=505.0), "ann"))
    problem = core.planning_view.problem(1.0)
    assert problem is not None
    assert dict(zip(problem.tasks, problem.deadline, strict=True)) == {"1": 499.0, "2": 504.0}
    core.handle(EditRequested(2.0, "2", TaskEdit(deadline=15.0), "ann"))
    assert core.plan.tasks == ("2", "1")


def test_an_edit_gives_all_its_values_in_one_change() -> None:
    core = a_core(staging=100.0)
    submit(core, a_task(1, deadline=50.0))
    used = core.bytes_by_owner[core.tasks["1"].owner]
    outcome = core.handle(EditRequested(1.0, "1", TaskEdit("longer", without_deadline=True, best_effort=True), "ann"))
    (task,) = outcome.changes.tasks.values()
    assert (task.spec.name, task.spec.deadline, task.spec.best_effort) == ("longer", None, True)
    assert core.bytes_by_owner[task.owner] == used + len("longer") - len("t1")


@pytest.mark.parametrize("seconds", [[10.0], [30.0, 20.0, 15.0, 12.0], None])
def test_other_hosts_and_run_times_take_the_place_of_the_earlier_ones(seconds: list[float] | None) -> None:
    core = a_core(2, staging=100.0)
    submit(core, a_task(1, [50.0], deadline=500.0))
    core.handle(HoldRequested(0.1, "1", "ann"))
    submit(core, a_task(2, seconds, begin=20.0), 0.2)
    chosen = HostChoice(2, Profile((math.inf, 40.0), PredictionSource.USER), "", "")
    core.handle(EditRequested(1.0, "2", TaskEdit(hosts=chosen), "ann"))
    assert core.plan.tasks == ("2",)
    (attempt,) = dispatched(core.handle(Tick(101.0)))
    assert (len(attempt.hosts), attempt.predicted) == (2, 40.0)


def test_a_guest_is_changed_in_its_own_domain() -> None:
    core = a_core(staging=100.0)
    submit(core, a_task(1, origin="west", held=True))
    assert not core.handle(HoldRequested(1.0, "1", "ann")).changes
    assert why_unchangeable(core.tasks["1"]) == "task 1 comes from domain west: change it there"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"state": TaskState.FORWARDED, "peer": "east"}, "is with domain east"),
        ({"state": TaskState.CANCELLING}, "is being cancelled"),
        ({"state": TaskState.DISPATCHING}, "has left the queue"),
        ({}, ""),
    ],
)
def test_who_cannot_be_changed_is_told_why(values: dict[str, object], words: str) -> None:
    found = why_unchangeable(make_task(1, **values))
    assert words in found
    assert bool(found) == bool(words)


def test_an_edit_that_leaves_a_task_without_a_prediction_takes_it_out_of_the_plan() -> None:
    """It was sent to the number of hosts that it was planned on before."""
    core = a_core(2)
    assert dispatched(submit(core, a_task(1, [math.inf, 10.0])))
    assert not dispatched(submit(core, a_task(2, [math.inf, 10.0])))
    outcome = core.handle(EditRequested(1.0, "2", TaskEdit(hosts=HostChoice(1, None, "", "")), "ann"))
    assert core.planning_view.forecast(1.0) is None
    (attempt,) = dispatched(outcome)  # the manager chooses its host, and lets it wait
    assert (attempt.task, attempt.count, attempt.hosts) == ("2", 1, ())
