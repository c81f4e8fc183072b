from __future__ import annotations

import math
from dataclasses import replace

import pytest

from cosched.connector.jobs import JobState
from cosched.coscheduler.events import HostsReserved, ScheduleImproved, SubmitFailed
from cosched.coscheduler.explanation.explain import explain
from cosched.coscheduler.planning.task_plan import TaskPlan
from cosched.coscheduler.reservations import Reservation
from cosched.coscheduler.task import TaskState
from cosched.prediction.profile import PredictionSource, Profile
from tests.coscheduler.makers import a_core, a_task, dispatched, report, start, submit


def test_a_waiting_task_names_what_is_before_it_but_for_others_tasks_and_what_would_help() -> None:
    core = a_core(1)
    (running,) = dispatched(submit(core, a_task(1, [10.0])))
    start(core, running, 0.0)
    submit(core, a_task(2, [4.0], deadline=15.0, owner="bob"))
    submit(core, a_task(3, [5.0], deadline=16.0))
    core.handle(ScheduleImproved(1.0, TaskPlan(("2", "3"), (1, 1))))
    found = explain(core, "3", 2.0)
    assert found is not None
    assert found.waits_for == ("on hosts it will use: 1 (t1, running)", "planned before it on those hosts: 2 (queued)")
    assert (found.planned_start, found.planned_end, found.planned_hosts) == (14.0, 19.0, ("node01",))
    assert found.slack == -3.0
    assert found.would_change == ("first in the queue it would end 4.0 s earlier",)


def test_a_reservation_that_it_waits_for_is_named() -> None:
    core = a_core(1)
    core.handle(HostsReserved(0.0, Reservation("r1", ("node01",), 0.0, 20.0, "course")))
    submit(core, a_task(1, [4.0]), 1.0)
    found = explain(core, "1", 2.0)
    assert found is not None
    assert found.waits_for == ("reserved: node01 for course, another 18 s",)
    assert (found.planned_start, found.would_change) == (20.0, ("without reservations it would end 18 s earlier",))


def test_a_reservation_that_it_does_not_fit_in_before_is_named() -> None:
    core = a_core(2)
    (running,) = dispatched(submit(core, a_task(1, [10.0])))
    start(core, running, 0.0)
    core.handle(HostsReserved(0.0, Reservation("r1", ("node02",), 3.0, 20.0)))
    submit(core, a_task(2, [4.0]))
    found = explain(core, "2", 0.0)
    assert found is not None
    assert found.planned_hosts == ("node01",)
    assert found.waits_for == ("on hosts it will use: 1 (t1, running)", "reserved: node02 for r1, in 3.0 s for 17 s")
    assert found.would_change == ("without reservations it would end 10 s earlier",)


def test_a_reservation_that_is_in_nobodys_way_is_not_named() -> None:
    core = a_core(1, staging=9.0)
    core.handle(HostsReserved(0.0, Reservation("r1", ("node01",), 30.0, 40.0)))
    submit(core, a_task(1, [4.0]))
    found = explain(core, "1", 0.0)
    assert found is not None
    assert (found.waits_for, found.would_change) == (("nothing: it leaves as soon as the search has looked at it",), ())


def test_a_faster_host_count_is_named() -> None:
    core = a_core(4)
    (running,) = dispatched(submit(core, a_task(1, [math.inf, math.inf, 10.0])))
    start(core, running, 0.0)
    submit(core, a_task(2, [10.0, 6.0, 5.0, 4.0]))
    found = explain(core, "2", 0.0)
    assert found is None or found.state is not TaskState.QUEUED or "on 4 hosts" in " ".join(found.would_change)


def test_the_run_that_is_told_begins_when_the_job_has_been_handed_over() -> None:
    core = a_core(2)
    (running,) = dispatched(submit(core, a_task(1, [math.inf, 10.0])))
    start(core, running, 2.0)
    submit(core, a_task(2, [10.0, 6.0]), 3.0)
    core.handle(ScheduleImproved(3.0, TaskPlan(("2",), (1,))))
    found = explain(core, "2", 3.0)
    assert found is not None
    assert (found.planned_start, found.planned_end) == (14.0, 24.0)  # as long as the curve says
    assert "on 2 hosts it would run 6.0 s instead of 10 s on 1" in found.would_change


def test_a_task_that_needs_more_hosts_says_so() -> None:
    core = a_core(2)
    submit(core, a_task(1, [math.inf, math.inf, 1.0]))
    found = explain(core, "1", 0.0)
    assert found is not None
    assert found.waits_for == ("it needs at least 3 hosts and 2 are up: it starts when more come back",)


def test_a_task_that_nothing_is_planned_for_is_late_when_its_deadline_is_past() -> None:
    """Nothing was said of the deadline of a task that waits for hosts to come back, however long it was past."""
    core = a_core(2)
    submit(core, a_task(1, [math.inf, math.inf, 1.0], deadline=10.0))
    before, after = explain(core, "1", 9.0), explain(core, "1", 14.0)
    assert before is not None
    assert after is not None
    assert (before.slack, after.slack) == (None, -4.0)


def test_a_running_and_a_held_task_name_their_job() -> None:
    core = a_core(1)
    (attempt,) = dispatched(submit(core, a_task(1, [10.0], deadline=12.0)))
    start(core, attempt, 1.0)
    found = explain(core, "1", 2.0)
    assert found is not None
    assert (found.waits_for, found.planned_end, found.slack) == (("job 1.0 is running",), 11.0, 1.0)
    report(core, attempt, JobState.HELD, 3.0, reason="out of quota")
    found = explain(core, "1", 4.0)
    assert found is not None
    assert found.waits_for == ("the resource manager holds job 1.0: out of quota; release or cancel it",)


def test_an_absent_manager_is_named() -> None:
    core = a_core(1, retry=30.0)
    (attempt,) = dispatched(submit(core, a_task(1, [10.0])))
    core.handle(SubmitFailed(0.0, attempt.uuid, "unreachable", transient=True))
    submit(core, a_task(2, [10.0]))
    found = explain(core, "2", 10.0)
    assert found is not None
    assert found.waits_for[0] == "the resource manager does not answer; asked again in 20 s"


def test_a_task_that_has_ended_is_not_explained() -> None:
    assert explain(a_core(), "1", 0.0) is None


def test_the_range_of_the_end_is_that_of_the_run() -> None:
    unsure = Profile((10.0,), PredictionSource.MODEL, "test", (8.0,), (15.0,))
    core = a_core(1)
    (running,) = dispatched(submit(core, replace(a_task(1), profile=unsure)))
    late = explain(core, "1", 50.0)  # the manager has not started it yet: its end was told after its range
    assert late is not None
    assert (late.planned_end, late.end_low, late.end_high) == pytest.approx((60.0, 58.0, 65.0))
    start(core, running, 2.0)
    submit(core, replace(a_task(2), profile=unsure))
    found = explain(core, "1", 3.0)
    assert found is not None
    assert (found.planned_end, found.end_low, found.end_high) == pytest.approx((12.0, 10.0, 17.0))
    found = explain(core, "2", 3.0)
    assert found is not None
    assert found.planned_start is not None
    assert found.planned_end is not None
    begin = found.planned_end - 10.0  # after the hand-over
    assert (found.end_low, found.end_high) == pytest.approx((begin + 8.0, begin + 15.0))
    submit(core, a_task(3, [5.0]))
    certain = explain(core, "3", 3.0)
    assert certain is not None
    assert certain.end_low is certain.end_high is None


def test_what_would_gain_less_than_news_are_late_is_no_advice() -> None:
    core = a_core(1)
    (running,) = dispatched(submit(core, a_task(1, [10.0])))
    start(core, running, 0.0)
    submit(core, a_task(2, [0.9]))
    submit(core, a_task(3, [5.0]))
    core.handle(ScheduleImproved(1.0, TaskPlan(("2", "3"), (1, 1))))
    found = explain(core, "3", 2.0)
    assert found is not None
    assert (found.planned_start, found.would_change) == (10.9, ())
