"""The journal keeps one short line for each event that people may ask about later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.coscheduler.events import (
    AttemptAbsent,
    AttemptMissing,
    AttemptSubmitted,
    CancelRequested,
    HostsObserved,
    HostsReserved,
    JobReported,
    PeerReported,
    ReservationReleased,
    StartPermitted,
    SubmitFailed,
    TaskForwarded,
    TaskReturned,
    TaskSubmitted,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cosched.coscheduler.events import Event
    from cosched.coscheduler.task import Attempt

__all__ = ["LogEntry", "log_entry"]


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One line of the log.

    Attributes:
        time: seconds since the epoch.
        kind: the event's name in words ("submit failed").
        task: identifier of the task it concerns; empty where it concerns the domain.
        detail: one line for people.
    """

    time: float
    kind: str
    task: str = ""
    detail: str = ""


def log_entry(event: Event, attempts: Iterable[Attempt] = ()) -> LogEntry | None:
    """Return the log's line for an event, None where the event says nothing that is worth a line.

    Args:
        event: what happened.
        attempts: the attempts that the event changed: they say which task an attempt belongs to.
    """
    match event:
        case TaskSubmitted(time, task):
            return LogEntry(time, "submitted", task.id, f"{task.application} {task.name}".rstrip())
        case CancelRequested(time, task, reason):
            return LogEntry(time, "cancel requested", task, reason)
        case AttemptSubmitted(time, uuid, job):
            return LogEntry(time, "attempt submitted", _task(uuid, attempts), f"{uuid} is job {job}")
        case SubmitFailed(time, uuid, message, _):
            return LogEntry(time, "submit failed", _task(uuid, attempts), f"{uuid}: {message}")
        case AttemptMissing(time, uuid):
            return LogEntry(time, "attempt missing", _task(uuid, attempts), uuid)
        case AttemptAbsent(time, uuid):
            return LogEntry(time, "attempt lost", _task(uuid, attempts), uuid)
        case JobReported(time, report) if _task(report.attempt, attempts):
            detail = f"{report.attempt} {report.reason}".rstrip()
            return LogEntry(time, f"job {report.state}", _task(report.attempt, attempts), detail)
        case HostsObserved() | HostsReserved() | ReservationReleased():
            return _of_hosts(event)
        case TaskForwarded() | TaskReturned() | PeerReported() | StartPermitted():
            return _between_domains(event)
        case _:
            return None


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
            place = " ".join([*([f"in {where}"] if where else []), *([f"on {len(hosts)} hosts"] if hosts else [])])
            return LogEntry(time, f"{state} elsewhere", task, reason or place)
        case StartPermitted(time, task):
            return LogEntry(time, "start permitted", task, "by the domain that it comes from")


def _task(uuid: str, attempts: Iterable[Attempt]) -> str:
    return next((attempt.task for attempt in attempts if attempt.uuid == uuid), "")
