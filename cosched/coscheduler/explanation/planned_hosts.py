"""Obstacles on the hosts on which a waiting task is planned: running and planned tasks, reservations, shared room."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.connector.hosts import HostShare
from cosched.coscheduler.explanation.elastic_sentences import lent_sentences
from cosched.coscheduler.explanation.task_names import first_names, first_tasks, task_text
from cosched.coscheduler.places.shortage import share_text, shortage
from cosched.coscheduler.places.spare_room import SpareRoom, kept_for, planned_shares
from cosched.durations import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.reservations import Reservation
    from cosched.coscheduler.task import Task
    from cosched.scheduling.schedule import Assignment

__all__ = ["avoided_hosts", "missing_room", "occupants"]


def occupants(
    core: Coscheduler, task: Task, assignments: tuple[Assignment, ...], mine: Assignment, time: float, *, delayed: bool
) -> list[str]:
    """Name what occupies the planned hosts before the task: running tasks, tasks planned earlier, reservations.

    Where reservations delay the task, those of other hosts are named, too: it may be for them that it takes these.
    """
    hosts = set(mine.hosts)
    planned = [a.task for a in assignments if a.start < mine.start and hosts.intersection(a.hosts)]
    first = [
        a.task
        for a in assignments
        if a.start < mine.start and not task.spec.licences.keys().isdisjoint(core.tasks[a.task].spec.licences)
    ]
    taken = [a.task for a in core.attempts.values() if not a.loan and hosts.intersection(a.reckoned_hosts)]
    found = lent_sentences(core, hosts)
    if taken := list(dict.fromkeys(taken)):
        found.append(f"on hosts it will use: {first_tasks(core, taken, task)}")
    found += _open_ends(core, task, hosts, time)
    aside = sorted(hosts.intersection(core.unstarted.set_aside(time)))
    if aside:
        found.append(f"hosts on which several tasks did not begin, and which are tried again later: {', '.join(aside)}")
    held = {name: core.domain.hosts[name].others for name in sorted(hosts) if core.domain.shared}
    if shared := [f"{name} ({share_text(share)})" for name, share in held.items() if share != HostShare()]:
        found.append(f"held by others: {first_names(shared)}")
    others = sorted(hosts.intersection(core.domain.claims(0.0)))
    if others:
        found.append(
            f"taken by others: {', '.join(f'{name} ({core.domain.hosts[name].reason})' for name in others[:3])}"
        )
    reserved = core.reservations.on(core.domain.hosts if delayed else hosts, time, time + mine.start, time)
    if reserved:
        found.append(f"reserved: {'; '.join(_reserved(each, time) for each in reserved[:3])}")
    if first:
        found.append(f"planned before it with licences that it needs, too: {first_tasks(core, first, task)}")
    if planned:
        found.append(f"planned before it on those hosts: {first_tasks(core, planned, task)}")
    return found


def _open_ends(core: Coscheduler, task: Task, hosts: set[str], time: float) -> list[str]:
    """Name the jobs there whose end is not known: they have not begun, or nobody predicted it."""
    found = []
    here = [each for each in core.attempts.values() if hosts.intersection(each.hosts)]
    if late := {each.task: age for each in here if (age := core.unstarted.waited(each.uuid, time))}:
        longest = format_duration(max(late.values()))
        has, until = ("has", f"{longest}: until it does")
        if len(late) > 1:
            has, until = "have", f"up to {longest}: until they do"
        found.append(f"{first_tasks(core, list(late), task)} {has} not begun for {until}, no end is promised")
    begun = [each for each in here if each.started is not None and not each.worker]  # workers end with their leads
    if open_ends := [each.task for each in begun if each.predicted is None]:
        found.append(
            f"nobody has predicted when {first_tasks(core, open_ends, task)} will end: plans reckon with half as "
            "long again as it has run"
        )
    return found


def _reserved(reservation: Reservation, time: float) -> str:
    hosts = first_names(sorted(reservation.hosts))
    if reservation.begin <= time:
        return f"{hosts} for {reservation.title}, another {format_duration(reservation.end - time)}"
    begins, lasts = reservation.begin - time, reservation.end - reservation.begin
    return f"{hosts} for {reservation.title}, in {format_duration(begins)} for {format_duration(lasts)}"


def missing_room(
    core: Coscheduler, task: Task, mine: Assignment, assignments: Iterable[Assignment], time: float
) -> list[str]:
    """Name the resources that shared hosts lack for the task, and when they come free or for whom they are kept."""
    if not core.domain.shared or mine.start <= 0:
        return []
    left = core.domain.left(core.attempts.values())
    what = shortage(core.domain, task.spec, len(mine.hosts), left)
    if not what:
        return _kept(core, task, mine, assignments, left, time)
    have = "has that" if len(mine.hosts) == 1 else "have that"
    return [f"{what}: {first_names(list(mine.hosts))} {have} in {format_duration(mine.start)}"]


def _kept(
    core: Coscheduler,
    task: Task,
    mine: Assignment,
    assignments: Iterable[Assignment],
    left: Mapping[str, HostShare],
    time: float,
) -> list[str]:
    """Name the task for which a host's free room is kept that this task would fit into now."""
    share, domain = core.domain.share_of(task.spec), core.domain
    if share is None or len(mine.hosts) != 1:
        return []
    sizes = {name: domain.size(name) for name in domain.mine() if name in left}
    held = [
        (each.host, each.until - time, each.share)
        for each in domain.held(core.attempts.values(), time)
        if each.host in sizes
    ]
    others = planned_shares([each for each in assignments if each.task != task.id], core.tasks, domain)
    room = SpareRoom(sizes, held, others)
    first = kept_for(share, mine.end - mine.start, {name: left[name] for name in sizes}, room)
    if first is None:
        return []
    what = f"{share_text(share)} that {first.host} has now, but not for long enough"
    return [f"{what}: {task_text(core, first.task, task)} is to start there in {format_duration(first.start)}"]


def avoided_hosts(core: Coscheduler, task: Task, time: float) -> list[str]:
    """Name the hosts on which a task did not begin, while it is planned on others."""
    hosts = sorted(core.unstarted.avoided().get(task.id, ()))
    if not hosts:
        return []
    left = format_duration(max(core.unstarted.avoided_until(task.id) - time, 0.0))
    return [f"hosts other than {first_names(hosts)}: it did not begin there, and others do as well for another {left}"]
