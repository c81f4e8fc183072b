"""Sentences about elastic tasks: which hosts they have been lent, and who takes them back, why and when."""

from __future__ import annotations

import math
from collections import Counter
from statistics import fmean
from typing import TYPE_CHECKING

from cosched.connector.hosts import HostShare
from cosched.coscheduler.attempts.attempt import AttemptState
from cosched.coscheduler.elastic.bad_hosts import link_text, slow_text
from cosched.coscheduler.explanation.task_names import first_names
from cosched.coscheduler.places.shortage import share_text
from cosched.coscheduler.places.spare_room import SpareRoom, planned_shares
from cosched.counts import plural
from cosched.durations import format_duration
from cosched.prediction.efficiency import weighted_average_efficiency

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.elastic.values import LeadStatus
    from cosched.coscheduler.task import Task

__all__ = ["lent_sentences", "worker_sentences"]

_UNTIL_NEEDED = "until it is needed"
_STAYS = "; the promised hosts there stay while no others can be promised in their place"


def worker_sentences(core: Coscheduler, task: Task, lead: Attempt, time: float) -> list[str]:
    """Say of a running elastic task which hosts are promised and lent, and what its workers wait for."""
    if lead.lead is None or task.spec.elastic is None:
        return []
    if task.spec.elastic.restart:
        return _restart_sentences(task, lead, lead.lead, time)
    workers = core.workers_of(task.id)
    lent = [each for each in workers if each.loan and not each.leaves]
    of_each = f" ({share_text(lead.share)} of each)" if lead.share is not None else ""
    found = [f"its promised hosts: {first_names(lead.reckoned_hosts)}{of_each}"]
    if lent:
        until = _ends(core, lent, time)
        found.append(f"lent to it: {_places([(each, until.get(each.hosts[0], _UNTIL_NEEDED)) for each in lent])}")
    found += [f"it gives {_place(each)} back: {each.reason}" for each in workers if each.loan and each.leaves]
    if task.spec.elastic.needs_lead and not lead.lead.address and lead.state is AttemptState.RUNNING:
        found.append("its workers wait for the address of its lead, which it has not told")
    if lead.lead.gathers and lead.state is AttemptState.RUNNING:
        found.append("its program is there and waits for the hosts of this stage")
    elif lead.lead.stage_done is not None:
        found.append("its program is done with this stage, and waits for the hosts of the next one")
    found += [_not_begun(core, each, waited) for each in workers if (waited := core.unstarted.waited(each.uuid, time))]
    if (enough := lead.lead.enough) is not None and lead.state is AttemptState.RUNNING:
        found.append(
            f"a worker ended by itself with code 0, as one does for lack of work: it is given no more than "
            f"{plural(enough, 'host')} until its lead wishes for others"
        )
    if (most := lead.lead.ceiling) is not None:
        found.append(f"its user wishes for at most {plural(most, 'host')} (`cosched task resize {task.id}`)")
    slow = core.elastic.bad_hosts.slow.proved(task.id, 0.0)
    found += [slow_text(each.hosts[0], slow[each.hosts[0]]) for each in workers if each.hosts[0] in slow]
    found += _link_sentences(core, lead, workers, time)
    if (setback := core.elastic.setbacks.records.get(task.id)) is not None:
        left = setback.until - time
        then = f"the next is tried in {format_duration(left)}" if left > 0 else "the next is tried as soon as it can be"
        found.append(
            f"{setback.count} of its workers in a row failed soon after their start or did not begin (the last, "
            f"{setback.last}): {then}"
        )
    return found


def _link_sentences(core: Coscheduler, lead: Attempt, workers: Sequence[Attempt], time: float) -> list[str]:
    """Say how well a program uses its hosts, by what its lead measures, and which clusters are too far."""
    links, task, clusters = core.elastic.bad_hosts.links, lead.task, core.domain.clusters()
    if not (statistics := links.statistics.get(task)):
        return []
    efficiency, away = weighted_average_efficiency(statistics), fmean(each.inter_cluster for each in statistics)
    found = [
        f"its workers' weighted average efficiency is {efficiency:.0%}; {away:.0%} of their time goes to communication "
        "with other clusters"
    ]
    promised = {clusters.get(each.hosts[0]) for each in workers if not each.loan}
    found += [
        f"{link_text(cluster, part)}{_STAYS if cluster in promised else ''}"
        for cluster, part in sorted(links.proved(task, 0.0).items())
    ]
    found += [
        f"it keeps away from cluster {cluster}, which it left for its slow link, for {format_duration(left)}"
        for cluster, left in sorted(links.avoided(task, time).items())
    ]
    return found


def _restart_sentences(task: Task, lead: Attempt, status: LeadStatus, time: float) -> list[str]:
    """Say of a task that checkpoints which start this is and why, and whether it is asked to stop."""
    found, known = [], task.status.restarts
    if known is not None and known.count:
        why = known.why or "it had checkpointed, without being asked"
        left = f"{round(known.left * 100)} % of its work left"
        found.append(f"it was started again ({plural(known.count, 'restart')} so far), with {left}: {why}")
    if lead.leave_by is not None:
        left = format_duration(max(lead.leave_by - time, 0.0))
        hosts = plural(status.next_hosts, "host")
        found.append(f"it is asked to checkpoint and stop within {left}, and to go on with {hosts}: {status.why}")
    elif status.deaf:
        found.append(f"it was asked to checkpoint and stop ({status.why}), and has not: it is let go on")
    return found


def _not_begun(core: Coscheduler, worker: Attempt, waited: float) -> str:
    reason = core.unstarted.reason(worker.uuid)
    return (
        f"the resource manager has not started its worker {worker.worker} on {worker.hosts[0]} for "
        f"{format_duration(waited)}{f': {reason}' if reason else ''}; it is asked why, and the worker is called back "
        "if it does not begin"
    )


def lent_sentences(core: Coscheduler, hosts: Collection[str]) -> list[str]:
    """Say which of the hosts that a waiting task will use are lent, and to which tasks."""
    found: dict[str, list[tuple[Attempt, str | None]]] = {}
    for attempt in core.attempts.values():
        if attempt.loan and attempt.hosts[0] in hosts:
            found.setdefault(attempt.task, []).append((attempt, None))
    stopping = [
        f"task {attempt.task}, which is asked to checkpoint and stop: {attempt.lead.why}"
        for attempt in core.attempts.values()
        if attempt.lead is not None and attempt.leave_by is not None and not set(attempt.hosts).isdisjoint(hosts)
    ]
    lent = [f"{_places(lent)}, lent to task {task}: what is needed comes back" for task, lent in found.items()]
    return lent + stopping


def _ends(core: Coscheduler, lent: Sequence[Attempt], time: float) -> dict[str, str]:
    """Say of each host of lent workers until when it is lent, where that is known: by the plan or a reservation."""
    reserved = core.reservations.needed(time)
    first = {host: (seconds, "it is reserved for others") for host, seconds in reserved.items()}
    for host, (start, task) in _needs(core, lent, time).items():
        if start <= first.get(host, (math.inf, ""))[0]:
            first[host] = (start, f"task {task} is to start there")
    return {host: f"until {what}, in {format_duration(max(seconds, 0.0))}" for host, (seconds, what) in first.items()}


def _needs(core: Coscheduler, lent: Sequence[Attempt], time: float) -> dict[str, tuple[float, str]]:
    """Return of each host of lent workers in how long which task needs it, or more of it, first in the plan."""
    forecast, first = core.planning_view.forecast(time), dict[str, tuple[float, str]]()
    if forecast is None:
        return first
    domain = core.domain
    if domain.shared:
        sizes = {host: domain.size(host) for host in domain.mine()}
        held = [(each.host, each.until - time, each.share) for each in domain.held(_but_loans(core), time)]
        room = SpareRoom(sizes, held, planned_shares(forecast[1].assignments, core.tasks, domain))
        for each in core.attempts.values():
            if each.loan:
                room.take(each.hosts[0], domain.taken(each.hosts[0], each.share))
        for host in {each.hosts[0] for each in lent}:
            if (need := room.conflict(host, HostShare())) is not None:
                first[host] = (need.start, need.task)
    else:
        for place in forecast[1].assignments:
            for host in place.hosts:
                first[host] = min(first.get(host, (math.inf, "")), (place.start, place.task))
    return first


def _but_loans(core: Coscheduler) -> list[Attempt]:
    return [each for each in core.attempts.values() if not each.loan]


def _place(worker: Attempt) -> str:
    """Return what a worker has of its host, in words."""
    return worker.hosts[0] if worker.share is None else f"{share_text(worker.share)} of {worker.hosts[0]}"


def _places(lent: Sequence[tuple[Attempt, str | None]]) -> str:
    """Return the places of workers, each with who needs it first where that is known."""
    counts = Counter((_place(worker), need) for worker, need in sorted(lent, key=lambda each: each[0].hosts))
    return first_names(
        [
            f"{f'{count} × ' if count > 1 else ''}{place}{'' if need is None else f' ({need})'}"
            for (place, need), count in counts.items()
        ]
    )
