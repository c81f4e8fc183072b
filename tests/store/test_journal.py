from __future__ import annotations

from cosched.connector.interface import Host, JobReport, JobState
from cosched.coscheduler.events import (
    AttemptAbsent,
    AttemptMissing,
    AttemptSubmitted,
    CancelRequested,
    HostsObserved,
    HostsReserved,
    JobReported,
    ReservationReleased,
    ScheduleImproved,
    SubmitFailed,
    TaskSubmitted,
    Tick,
)
from cosched.coscheduler.reservations import Reservation
from cosched.coscheduler.task import Attempt, Task
from cosched.store import LogEntry, log_entry

TASK = Task("7", 7, "night run", "sweep3d", ("sweep3d",), 0.0)
ATTEMPT = Attempt("u", "7", ("h1",), 1, None, 0.0)


def test_events_of_a_task_name_it() -> None:
    assert log_entry(TaskSubmitted(1.0, TASK)) == LogEntry(1.0, "submitted", "7", "sweep3d night run")
    assert log_entry(CancelRequested(2.0, "7", "why")) == LogEntry(2.0, "cancel requested", "7", "why")
    assert log_entry(AttemptSubmitted(3.0, "u", "12.0"), [ATTEMPT]) == LogEntry(
        3.0, "attempt submitted", "7", "u is job 12.0"
    )
    assert log_entry(SubmitFailed(4.0, "u", "busy", True), [ATTEMPT]) == LogEntry(4.0, "submit failed", "7", "u: busy")
    assert log_entry(AttemptMissing(4.5, "u"), [ATTEMPT]) == LogEntry(4.5, "attempt missing", "7", "u")
    assert log_entry(AttemptAbsent(5.0, "u"), [ATTEMPT]) == LogEntry(5.0, "attempt lost", "7", "u")
    report = JobReport("u", JobState.HELD, reason="no licence")
    assert log_entry(JobReported(6.0, report), [ATTEMPT]) == LogEntry(6.0, "job held", "7", "u no licence")


def test_hosts_that_are_down_are_named() -> None:
    hosts = (Host("h1"), Host("h2", up=False))
    assert log_entry(HostsObserved(1.0, hosts)) == LogEntry(1.0, "hosts observed", "", "1 up; down: h2")


def test_reservations_are_logged() -> None:
    each = Reservation("r1", ("h1", "h2"), 3.0, 4.0, "course")
    assert log_entry(HostsReserved(1.0, each)) == LogEntry(1.0, "hosts reserved", "", "course: h1, h2")
    assert log_entry(ReservationReleased(2.0, "r1")) == LogEntry(2.0, "reservation released", "", "r1")


def test_what_changed_nothing_is_not_logged() -> None:
    assert log_entry(Tick(1.0)) is None
    assert log_entry(ScheduleImproved(1.0, ("7",), (1,))) is None
    assert log_entry(JobReported(1.0, JobReport("u", JobState.RUNNING))) is None
