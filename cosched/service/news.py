"""From what the engine has written down to what followers of the event stream are told."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from cosched.coscheduler.events import HostsObserved, HostsReserved, ReservationReleased, ScheduleImproved
from cosched.portal.feed import Happening
from cosched.service.views import task_view

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cosched.coscheduler.events import Event
    from cosched.coscheduler.task import Task

__all__ = ["happenings"]


def happenings(tasks: Iterable[Task], events: Iterable[Event]) -> list[Happening]:
    """Return what is told of tasks that changed and of events that changed plan or hosts."""
    told = [Happening("task", task.id, partial(task_view, task), task.owner) for task in tasks]
    for event in events:
        match event:
            case ScheduleImproved():
                told.append(Happening("plan", "", partial(_plan, event)))
            case HostsObserved():
                told.append(Happening("hosts", "", partial(_hosts, event)))
            case HostsReserved() | ReservationReleased():
                told.append(Happening("reservation", "", partial(_reservation, event)))
    return told


def _plan(event: ScheduleImproved) -> dict[str, float]:
    return {"time": event.time, "makespan": event.makespan, "bound": event.bound, "evaluations": event.evaluations}


def _reservation(event: HostsReserved | ReservationReleased) -> dict[str, float | str]:
    if isinstance(event, HostsReserved):
        return {"time": event.time, "id": event.reservation.id, "kept": True}
    return {"time": event.time, "id": event.reservation, "kept": False}


def _hosts(event: HostsObserved) -> dict[str, float]:
    up = sum(host.up for host in event.hosts)
    return {"time": event.time, "up": up, "down": len(event.hosts) - up}
