"""Changes from plain lists of records, for tests that write to a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.coscheduler.changes import Changes, KeyedSubmission, LogEntry

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.handovers import Guest, Handover
    from cosched.coscheduler.reservations import Reservation
    from cosched.coscheduler.task import Task


def changed(
    tasks: Iterable[Task] = (),
    attempts: Iterable[Attempt] = (),
    *,
    log: Iterable[LogEntry] = (),
    submissions: Iterable[KeyedSubmission] = (),
    handovers: Iterable[Handover] = (),
    guests: Iterable[Guest] = (),
    reservations: Iterable[Reservation] = (),
) -> Changes:
    return Changes(
        {task.id: task for task in tasks},
        {attempt.uuid: attempt for attempt in attempts},
        {reservation.id: reservation for reservation in reservations},
        {(handover.uuid, handover.epoch): handover for handover in handovers},
        {(guest.peer, guest.uuid): guest for guest in guests},
        tuple(log),
        tuple(submissions),
    )
