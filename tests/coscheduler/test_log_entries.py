from __future__ import annotations

from dataclasses import replace

from cosched.connector.hosts import Host
from cosched.connector.jobs import JobReport, JobState
from cosched.coscheduler.attempts.attempt import Attempt, AttemptState
from cosched.coscheduler.changes import Changes, LogEntry
from cosched.coscheduler.events import (
    AttemptAbsent,
    AttemptMissing,
    AttemptSubmitted,
    CancelRequested,
    Event,
    HostsObserved,
    HostsReserved,
    JobReported,
    ReservationReleased,
    ScheduleImproved,
    SubmitFailed,
    TaskSubmitted,
    Tick,
)
from cosched.coscheduler.log_entries import log_entries
from cosched.coscheduler.planning.task_plan import TaskPlan
from cosched.coscheduler.reservations import Reservation
from tests.tasks import make_task

TASK = make_task(7, name="night run", application="sweep3d", command=("sweep3d",))
ATTEMPT = Attempt("u", "7", ("h1",), 1, None, 0.0)
CHANGES = Changes({"7": TASK}, {"u": ATTEMPT})


def entry(event: Event, changes: Changes = CHANGES) -> LogEntry | None:
    """Return the line for one event."""
    entries = log_entries([event], changes)
    assert len(entries) <= 1
    return entries[0] if entries else None


def test_events_of_a_task_name_it() -> None:
    assert entry(TaskSubmitted(1.0, TASK)) == LogEntry(1.0, "submitted", "7", "sweep3d night run")
    assert entry(CancelRequested(2.0, "7", "why")) == LogEntry(2.0, "cancel requested", "7", "why")
    assert entry(AttemptSubmitted(3.0, "u", "12.0")) == LogEntry(3.0, "attempt submitted", "7", "u is job 12.0")
    assert entry(SubmitFailed(4.0, "u", "busy", True)) == LogEntry(4.0, "submit failed", "7", "u: busy")
    assert entry(AttemptMissing(4.5, "u")) == LogEntry(4.5, "attempt missing", "7", "u")
    assert entry(AttemptAbsent(5.0, "u")) == LogEntry(5.0, "attempt lost", "7", "u")
    report = JobReport("u", JobState.HELD, reason="no licence")
    assert entry(JobReported(6.0, report)) == LogEntry(6.0, "job held", "7", "u no licence")


def test_a_checkpoint_is_logged_as_one_and_not_as_a_failure() -> None:
    stopped = JobReport("u", JobState.FAILED, exit_code=85)
    why = "2 hosts → 4 hosts: it ends sooner"
    saved = replace(ATTEMPT, state=AttemptState.CHECKPOINTED, reason=why)
    assert entry(JobReported(7.0, stopped), Changes({}, {"u": saved})) == LogEntry(7.0, "checkpointed", "7", f"u {why}")
    failed = replace(ATTEMPT, state=AttemptState.FAILED)
    assert entry(JobReported(7.0, stopped), Changes({}, {"u": failed})) == LogEntry(7.0, "job failed", "7", "u")


def test_hosts_that_are_down_are_named() -> None:
    hosts = (Host("h1"), Host("h2", up=False))
    assert entry(HostsObserved(1.0, hosts)) == LogEntry(1.0, "hosts observed", "", "1 up; down: h2")


def test_reservations_are_logged() -> None:
    each = Reservation("r1", ("h1", "h2"), 3.0, 4.0, "course")
    assert entry(HostsReserved(1.0, each)) == LogEntry(1.0, "hosts reserved", "", "course: h1, h2")
    assert entry(ReservationReleased(2.0, "r1")) == LogEntry(2.0, "reservation released", "", "r1")


def test_events_that_say_nothing_are_not_logged() -> None:
    assert entry(Tick(1.0)) is None
    assert entry(ScheduleImproved(1.0, TaskPlan(("7",), (1,)))) is None
    assert entry(JobReported(1.0, JobReport("another", JobState.RUNNING))) is None


def test_an_event_of_a_task_that_changed_nothing_is_not_logged() -> None:
    assert entry(CancelRequested(2.0, "7", "again"), Changes()) is None
    assert entry(ReservationReleased(2.0, "r1"), Changes()) == LogEntry(2.0, "reservation released", "", "r1")
