"""Which events have the core look for tasks that may leave."""

from __future__ import annotations

import math

import pytest

from cosched.connector.jobs import JobReport, JobState
from cosched.coscheduler.core_settings import CoreSettings
from cosched.coscheduler.dispatching.looks import DispatchLooks
from cosched.coscheduler.dispatching.submit_limits import SubmitLimits
from cosched.coscheduler.events import (
    AttemptSubmitted,
    CancelRequested,
    Event,
    JobReported,
    NeighboursChanged,
    PredictionPassed,
    SearchAwaited,
    TaskSubmitted,
    Tick,
)
from cosched.coscheduler.planning.staging import Staging
from cosched.coscheduler.planning.task_queue import TaskQueue
from cosched.coscheduler.state import CoreState
from tests.coscheduler.makers import INSTANCE, a_task

QUEUED, RUNNING, COMPLETED = JobState.QUEUED, JobState.RUNNING, JobState.COMPLETED


def looks(*, shared: bool = False, searched: bool = True) -> DispatchLooks:
    """Return when a core looks whose one task waits for the search; it has looked at 10 s."""
    queue = TaskQueue(Staging(60.0, 60.0), lambda *_asked: False, by_deadline=True)
    queue.add(a_task(1, submitted=10.0))
    found = DispatchLooks(CoreState(share_hosts=shared), queue, SubmitLimits(CoreSettings(INSTANCE)), searched=searched)
    found.last = 10.0
    return found


def reported(state: JobState, time: float, *, more: bool = False) -> JobReported:
    return JobReported(time, JobReport("u", state), more=more)


@pytest.mark.parametrize(
    "event", [NeighboursChanged(20.0, available=True), PredictionPassed(20.0, "u", 9.0), SearchAwaited(20.0)]
)
def test_nothing_leaves_by_what_changes_neither_hosts_nor_tasks(event: Event) -> None:
    assert not looks().due(event)


def test_tasks_that_arrive_together_and_wait_for_the_search_are_looked_at_once() -> None:
    asked = looks()
    assert not asked.due(TaskSubmitted(10.1, a_task(1)))
    assert asked.due(TaskSubmitted(10.3, a_task(1)))  # a quarter of a second after the last look


def test_a_task_that_no_search_looks_at_may_leave_at_once() -> None:
    assert looks().due(TaskSubmitted(10.1, a_task(2, None)))  # it has no model
    assert looks(searched=False).due(TaskSubmitted(10.1, a_task(1)))


@pytest.mark.parametrize(("shared", "time", "due"), [(False, 10.1, True), (True, 10.1, False), (False, 10.0, False)])
@pytest.mark.parametrize("begun", [reported(RUNNING, 0.0), reported(QUEUED, 0.0), AttemptSubmitted(0.0, "u", "7")])
def test_a_job_that_comes_forward_frees_no_part_of_a_host(
    begun: JobReported | AttemptSubmitted, time: float, *, shared: bool, due: bool
) -> None:
    event = (
        AttemptSubmitted(time, "u", "7") if isinstance(begun, AttemptSubmitted) else reported(begun.report.state, time)
    )
    assert looks(shared=shared).due(event) == due


@pytest.mark.parametrize("event", [reported(COMPLETED, 10.0), CancelRequested(10.0, "1"), Tick(10.0)])
def test_what_frees_a_host_is_looked_at_in_the_moment_of_the_last_look(event: Event) -> None:
    assert looks(shared=True).due(event)


def test_of_reports_that_come_together_the_last_has_all_looked_at() -> None:
    asked = looks(shared=True)
    assert not asked.due(reported(COMPLETED, 10.0, more=True))
    assert asked.last == -math.inf
    assert asked.due(reported(RUNNING, 10.0))
