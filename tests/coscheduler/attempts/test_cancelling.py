"""Attempts that are called back because their hosts went to others, while the manager's reports come late."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cosched.connector.jobs import JobState
from cosched.coscheduler.changes import CancelAttempt, LocateAttempt
from cosched.coscheduler.events import AttemptBegun, AttemptSubmitted, CancelRequested, HostsObserved, Tick
from cosched.coscheduler.task import TaskState
from tests.coscheduler.makers import a_core, a_task, dispatched, hosts, report, submit

if TYPE_CHECKING:
    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.core import Coscheduler


def taken(core: Coscheduler, time: float) -> tuple[Attempt, list[CancelAttempt]]:
    """Start a task whose host then seems to be others'; return its attempt and what is cancelled."""
    (attempt,) = dispatched(submit(core, a_task(1, [10.0])))
    core.handle(AttemptSubmitted(0.5, attempt.uuid, "1.0"))
    others = tuple(replace(host, up=False) for host in hosts(1))
    outcome = core.handle(HostsObserved(time, others))
    return attempt, [one for one in outcome.decisions if isinstance(one, CancelAttempt)]


def test_a_job_that_had_begun_unseen_runs_on_and_once() -> None:
    core = a_core(1)
    attempt, cancels = taken(core, 1.0)
    assert cancels == [CancelAttempt(attempt.uuid, unless_begun=True)]
    outcome = core.handle(AttemptBegun(1.1, attempt.uuid))
    assert LocateAttempt(attempt.uuid) in outcome.decisions
    assert core.tasks["1"].status.state is TaskState.RUNNING
    assert not dispatched(report(core, attempt, JobState.COMPLETED, 1.2))
    assert "1" not in core.tasks


def test_a_report_that_overtakes_the_answer_does_not_end_the_job() -> None:
    core = a_core(1)
    attempt, _ = taken(core, 1.0)
    report(core, attempt, JobState.RUNNING, 1.1)
    again = [one for one in core.handle(Tick(30.0)).decisions if isinstance(one, CancelAttempt)]
    assert again == [CancelAttempt(attempt.uuid, unless_begun=True)]
    core.handle(AttemptBegun(30.1, attempt.uuid))
    assert core.tasks["1"].status.state is TaskState.RUNNING


def test_a_user_who_cancels_meanwhile_ends_it_all_the_same() -> None:
    core = a_core(1)
    attempt, _ = taken(core, 1.0)
    assert CancelAttempt(attempt.uuid) in core.handle(CancelRequested(1.1, "1")).decisions
    core.handle(AttemptBegun(1.2, attempt.uuid))
    assert core.tasks["1"].status.state is TaskState.CANCELLING
    report(core, attempt, JobState.REMOVED, 2.0)
    assert "1" not in core.tasks


def test_an_answer_that_comes_late_changes_nothing() -> None:
    core = a_core(1)
    attempt, _ = taken(core, 1.0)
    core.handle(AttemptBegun(1.1, attempt.uuid))
    report(core, attempt, JobState.EVICTED, 2.0)
    core.handle(AttemptBegun(2.1, attempt.uuid))
    assert core.attempts[attempt.uuid].state.value == "cancelling"
    report(core, attempt, JobState.REMOVED, 3.0)
    assert core.tasks["1"].status.state is TaskState.QUEUED
