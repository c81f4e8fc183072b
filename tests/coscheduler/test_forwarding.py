from __future__ import annotations

from dataclasses import replace

from cosched.connector.jobs import JobState
from cosched.coscheduler.changes import AskPeers, AskStart, Outcome
from cosched.coscheduler.events import (
    CancelRequested,
    NeighboursChanged,
    OfferEnded,
    PeerReported,
    StartPermitted,
    TaskForwarded,
    TaskReturned,
    Tick,
)
from cosched.coscheduler.explanation.explain import explain
from cosched.coscheduler.task import TaskState
from tests.coscheduler.makers import a_core, a_task, dispatched, report, restore, submit


def asked(outcome: Outcome) -> list[str]:
    return [decision.task for decision in outcome.decisions if isinstance(decision, AskStart | AskPeers)]


def test_a_guest_leaves_at_its_origins_word_alone() -> None:
    core = a_core()
    outcome = submit(core, a_task(1, origin="b", held=True))
    assert asked(outcome) == ["1"]
    assert not dispatched(outcome)
    assert asked(core.handle(Tick(0.5))) == []
    assert asked(core.handle(Tick(1.5))) == ["1"]
    assert [attempt.task for attempt in dispatched(core.handle(StartPermitted(1.6, "1")))] == ["1"]


def test_others_use_the_hosts_that_a_guest_waits_for() -> None:
    core = a_core(1)
    submit(core, a_task(1, (10.0,), origin="b", held=True))
    core.handle(Tick(20.0))
    assert [attempt.task for attempt in dispatched(submit(core, a_task(2, (0.5,)), 20.1))] == ["2"]


def test_a_task_that_would_leave_late_is_offered_once_where_there_are_neighbours() -> None:
    core = a_core()
    core.handle(NeighboursChanged(0.0, available=True))
    outcome = submit(core, a_task(1, deadline=2.0))
    assert asked(outcome) == ["1"]
    assert not dispatched(outcome)
    assert [attempt.task for attempt in dispatched(core.handle(OfferEnded(0.2, "1")))] == ["1"]


def test_what_is_offered_around_stays_until_nobody_wants_it() -> None:
    core = a_core()
    core.handle(NeighboursChanged(0.0, available=True))
    submit(core, a_task(1, deadline=2.0))
    outcome = core.handle(Tick(10.5))  # the network is slow
    assert asked(outcome) == ["1"]
    assert not dispatched(outcome)
    assert dispatched(core.handle(OfferEnded(12.0, "1")))


def test_what_waits_to_be_tried_again_waits_on_though_nobody_else_wants_it() -> None:
    """Regression: with each vain offer a late task was tried again, so that its tries were soon used up."""
    core = a_core(1)
    core.handle(NeighboursChanged(0.0, available=True))
    (first,) = dispatched(submit(core, a_task(1, [10.0], deadline=15.0, retries=5)))
    failed = {"exit_code": 3, "started": 1.0}
    (second,) = dispatched(report(core, first, JobState.FAILED, 2.0, finished=2.0, **failed))
    assert not dispatched(report(core, second, JobState.FAILED, 4.0, finished=4.0, **failed))
    until = core.held_back_until("1")
    assert not dispatched(core.handle(OfferEnded(4.1, "1")))
    assert core.held_back_until("1") == until
    assert asked(core.handle(Tick(30.0))) == ["1"]  # it would be late by now
    (third,) = dispatched(core.handle(OfferEnded(30.1, "1")))
    assert third.task == "1"


def test_without_neighbours_it_just_leaves() -> None:
    assert dispatched(submit(a_core(), a_task(1, deadline=2.0)))


def test_a_forwarded_task_does_not_start_here_and_comes_back_to_the_queue() -> None:
    core = a_core()
    core.handle(NeighboursChanged(0.0, available=True))
    submit(core, a_task(1, deadline=2.0))
    core.handle(TaskForwarded(0.1, "1", "b", "b is faster"))
    assert core.tasks["1"].status.state is TaskState.FORWARDED
    assert not dispatched(core.handle(Tick(30.0)))
    explanation = explain(core, "1", 1.0)
    assert explanation is not None
    assert explanation.waits_for == ("domain b has it, it waits there: b is faster",)
    outcome = core.handle(TaskReturned(31.0, "1", "b was silent"))
    assert [task.status.state for task in outcome.changes.tasks.values()] == [TaskState.QUEUED]
    assert dispatched(core.handle(OfferEnded(31.1, "1")))


def test_the_end_of_a_forwarded_task_teaches_nothing_about_our_hosts() -> None:
    core = a_core()
    core.handle(NeighboursChanged(0.0, available=True))
    submit(core, a_task(1, deadline=2.0))
    core.handle(TaskForwarded(0.1, "1", "b", "b is faster"))
    core.handle(PeerReported(1.0, "1", TaskState.RUNNING, hosts=("x",), started=0.5))
    assert core.tasks["1"].status.started == 0.5
    outcome = core.handle(PeerReported(2.0, "1", TaskState.COMPLETED, "", ("x",), 0.5, 1.9, 1.4, 0))
    (task,) = outcome.changes.tasks.values()
    assert (task.status.state, task.status.actual, task.status.peer) == (TaskState.COMPLETED, 1.4, "b")
    assert core.corrections() == {}


def test_a_cancelled_task_that_comes_back_is_cancelled() -> None:
    core = a_core()
    core.handle(NeighboursChanged(0.0, available=True))
    submit(core, a_task(1, deadline=2.0))
    core.handle(TaskForwarded(0.1, "1", "b", "b is faster"))
    core.handle(CancelRequested(0.2, "1"))
    assert core.tasks["1"].status.state is TaskState.CANCELLING
    outcome = core.handle(TaskReturned(0.3, "1", "taken back"))
    assert [task.status.state for task in outcome.changes.tasks.values()] == [TaskState.CANCELLED]
    assert not core.tasks


def test_what_is_in_transit_never_starts_here() -> None:
    core = a_core()
    guest = replace(a_task(1, origin="b", held=True), profile=None)
    assert not dispatched(submit(core, guest))
    assert not dispatched(core.handle(StartPermitted(1.0, "1")))
    assert list(core.in_transit) == ["1"]
    explained = explain(core, "1", 1.0)
    assert explained is not None
    assert "it comes from b, cannot run here and only goes through" in explained.waits_for[0]
    core.handle(TaskForwarded(2.0, "1", "c", "there it runs"))
    assert not list(core.in_transit)
    assert not dispatched(core.handle(TaskReturned(3.0, "1", "c gave it back")))
    assert list(core.in_transit) == ["1"]
    assert core.tasks["1"].status.state is TaskState.QUEUED
    core.handle(CancelRequested(4.0, "1"))
    assert "1" not in core.tasks
    assert not list(core.in_transit)


def test_what_was_in_transit_is_so_in_the_next_life() -> None:
    core = a_core()
    guest = replace(a_task(1, origin="b", held=True), profile=None)
    restore(core, 1.0, tasks=[guest])
    assert not dispatched(core.handle(Tick(2.0)))
    assert list(core.in_transit) == ["1"]
