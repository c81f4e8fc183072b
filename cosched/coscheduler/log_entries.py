"""Describe events in one line of the log each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.coscheduler.attempts.attempt import AttemptState
from cosched.coscheduler.changes import LogEntry
from cosched.coscheduler.events import (
    AttemptAbsent,
    AttemptBegun,
    AttemptDiagnosed,
    AttemptMissing,
    AttemptSubmitted,
    CancelRequested,
    EditRequested,
    HoldRequested,
    HostsObserved,
    HostsReserved,
    JobReported,
    LeadAnnounced,
    PeerReported,
    ReleaseRequested,
    ReservationReleased,
    StartPermitted,
    SubmitFailed,
    TaskForwarded,
    TaskReturned,
    TaskSubmitted,
    WorkerDrained,
    WorkerRefused,
)
from cosched.counts import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.changes import Changes
    from cosched.coscheduler.events import Event

__all__ = ["log_entries"]


def log_entries(events: Iterable[Event], changes: Changes) -> tuple[LogEntry, ...]:
    """Return the log's lines for events and all that they changed together.

    An event about a task is left out where no task or attempt changed: it came late or twice.
    """
    entries = (_entry(event, changes.attempts) for event in events)
    changed = bool(changes.tasks or changes.attempts)
    return tuple(entry for entry in entries if entry is not None and (changed or not entry.task))


def _entry(event: Event, attempts: Mapping[str, Attempt]) -> LogEntry | None:
    match event:
        case TaskSubmitted(time, task):
            return LogEntry(time, "submitted", task.id, f"{task.spec.application} {task.spec.name}".rstrip())
        case CancelRequested() | EditRequested() | HoldRequested() | ReleaseRequested():
            return _of_users(event)
        case AttemptSubmitted(time, uuid, job):
            return LogEntry(time, "attempt submitted", _task(uuid, attempts), f"{uuid} is job {job}")
        case SubmitFailed(time, uuid, message, _):
            return LogEntry(time, "submit failed", _task(uuid, attempts), f"{uuid}: {message}")
        case AttemptMissing() | AttemptDiagnosed() | AttemptAbsent() | AttemptBegun():
            return _of_manager(event, _task(event.attempt, attempts))
        case JobReported(time, report) if _task(report.attempt, attempts):
            attempt = attempts[report.attempt]
            checkpointed = attempt.state is AttemptState.CHECKPOINTED
            detail = f"{report.attempt} {attempt.reason if checkpointed else report.reason}".rstrip()
            what = "checkpointed" if checkpointed else f"job {report.state}"
            return LogEntry(time, what, attempt.task, detail)
        case LeadAnnounced() | WorkerDrained() | WorkerRefused():
            return _of_leads(event, _task(event.attempt, attempts))
        case HostsObserved() | HostsReserved() | ReservationReleased():
            return _of_hosts(event)
        case TaskForwarded() | TaskReturned() | PeerReported() | StartPermitted():
            return _between_domains(event)
        case _:
            return None


def _of_users(event: CancelRequested | EditRequested | HoldRequested | ReleaseRequested) -> LogEntry:
    match event:
        case CancelRequested(time, task, reason):
            return LogEntry(time, "cancel requested", task, reason)
        case EditRequested(time, task, edit, by):
            return LogEntry(time, "edited", task, f"by {by}: {edit}")
        case HoldRequested(time, task, by):
            return LogEntry(time, "held", task, f"by {by}")
        case ReleaseRequested(time, task, by):
            return LogEntry(time, "released", task, f"by {by}")


def _of_manager(event: AttemptMissing | AttemptDiagnosed | AttemptAbsent | AttemptBegun, task: str) -> LogEntry:
    match event:
        case AttemptMissing(time, uuid):
            return LogEntry(time, "attempt missing", task, uuid)
        case AttemptAbsent(time, uuid):
            return LogEntry(time, "attempt lost", task, uuid)
        case AttemptBegun(time, uuid):
            return LogEntry(time, "not called back", task, f"{uuid} has begun")
        case AttemptDiagnosed(time, uuid, diagnosis):
            detail = f"{uuid} {diagnosis.verdict}: {diagnosis.reason or 'the resource manager names no reason'}"
            return LogEntry(time, "not started", task, detail)


def _of_leads(event: LeadAnnounced | WorkerDrained | WorkerRefused, task: str) -> LogEntry | None:
    match event:
        case _ if not task:
            return None  # it came late or twice
        case LeadAnnounced(time, _, address):
            return LogEntry(time, "lead announced", task, address)
        case WorkerDrained(time, _, worker):
            return LogEntry(time, "worker drained", task, f"worker {worker} may go")
        case WorkerRefused(time, _, worker, reason):
            return LogEntry(time, "worker refused", task, f"worker {worker}: {reason}")


def _of_hosts(event: HostsObserved | HostsReserved | ReservationReleased) -> LogEntry:
    match event:
        case HostsObserved(time, hosts):
            down = [host.name for host in hosts if not host.up]
            return LogEntry(
                time, "hosts observed", "", f"{len(hosts) - len(down)} up; down: {', '.join(down) or 'none'}"
            )
        case HostsReserved(time, reservation):
            return LogEntry(time, "hosts reserved", "", f"{reservation.title}: {', '.join(reservation.hosts)}")
        case ReservationReleased(time, identifier):
            return LogEntry(time, "reservation released", "", identifier)


def _between_domains(event: TaskForwarded | TaskReturned | PeerReported | StartPermitted) -> LogEntry:
    match event:
        case TaskForwarded(time, task, peer, reason):
            return LogEntry(time, "forwarded", task, f"to {peer}: {reason}")
        case TaskReturned(time, task, reason):
            return LogEntry(time, "returned", task, reason)
        case PeerReported(time, task, state, reason, hosts, where=where):
            on = [f"on {plural(len(hosts), 'host')}"] if hosts else []
            place = " ".join([*([f"in {where}"] if where else []), *on])
            return LogEntry(time, f"{state} elsewhere", task, reason or place)
        case StartPermitted(time, task):
            return LogEntry(time, "start permitted", task, "by the domain that it comes from")


def _task(uuid: str, attempts: Mapping[str, Attempt]) -> str:
    attempt = attempts.get(uuid)
    return "" if attempt is None else attempt.task
