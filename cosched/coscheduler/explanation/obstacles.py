"""Obstacles to a waiting task that its planned hosts have no part in: other tasks, limits, licences, too few hosts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cosched.coscheduler.explanation.task_names import first_tasks, task_text
from cosched.coscheduler.places.hosts import needs_on_host
from cosched.coscheduler.sharing.standing import beyond_share, share_obstacle
from cosched.counts import plural
from cosched.durations import format_duration
from cosched.licence_requests import format_licences

if TYPE_CHECKING:
    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.task import Task

__all__ = ["beyond_licences", "find_obstacles", "why_impossible"]


def find_obstacles(core: Coscheduler, task: Task, time: float) -> list[str]:
    """Return what a waiting task waits for, apart from its planned hosts, a sentence each."""
    found = [f"task {task_text(core, name, task)}, which it comes after" for name in core.predecessors(task.id)]
    if task.spec.begin is not None and task.spec.begin > time:
        found.append(f"the time from which it may start, in {format_duration(task.spec.begin - time)}")
    if time < core.paused_until:
        found.append(
            f"the resource manager does not answer; asked again in {format_duration(core.paused_until - time)}"
        )
    limit = core.owner_limit(task.id)
    if limit is not None and core.owner_is_limited(task.id, time):
        pause = max(limit.until - time, 0.0)
        found.append(f"{limit.why}; tried again when a task of its owner ends, or in {format_duration(pause)}")
    found += _missing_licences(core, task, time)
    found += filter(None, (core.lead_obstacle(task.id), core.array_obstacle(task.id), share_obstacle(core, task)))
    held_back, failed = core.held_back_until(task.id), bool(task.status.failures and task.status.reason)
    if task.status.held:
        found.append(f"the word of domain {task.origin}, which it comes from, that it may start")
    elif held_back is not None and held_back > time and not task.status.reason:
        found.append("the answers of other domains: it would miss its deadline here")
    elif held_back is not None and held_back > time:
        failed = False
        found.append(
            f"an attempt came to nothing ({task.status.reason}); tried again in {format_duration(held_back - time)}"
        )
    if failed:
        found.append(f"its turn to be tried again: {task.status.reason}")
    return found


def _missing_licences(core: Coscheduler, task: Task, time: float) -> list[str]:
    """Say which licences a task cannot have now, who has them, and until when."""
    found = []
    for name, amount in core.licences.lacking(task).items():
        total, used = core.licences.total.get(name, 0), core.licences.in_use[name]
        if amount > total:
            continue
        having = core.planning_view.licence_holders(name)
        text = f"{format_licences({name: amount})}: {used} of {total} are in use"
        if having:
            text += f" by {first_tasks(core, [other for other, _ in having], task)}"
        first, kept = core.licences.kept_for(name)
        if first not in {"", task.id}:
            text += f", and {kept} are kept for {task_text(core, first, task)}, which no plan has"
        elif (when := core.planning_view.licence_back(name, amount, time)) is not None:
            text += f"; {'it is' if amount == 1 else 'as many are'} free in {format_duration(when - time)}"
        found.append(text)
    return found


def beyond_licences(core: Coscheduler, task: Task) -> str:
    """Say that a task asks for more licences than the domain has; empty where not."""
    beyond = core.licences.beyond(task.spec)
    return beyond and f"it asks for {beyond}: change it, or ask an administrator for more ([licences])"


def why_impossible(core: Coscheduler, task: Task) -> str:
    """Say of a task that no plan has what it asks for and the domain, or its user, does not have now."""
    if beyond := beyond_licences(core, task) or beyond_share(core, task):
        return beyond
    task = task.shapes()[0]  # that with the fewest cores is the last to become impossible
    assert task.profile is not None
    least = next(count for count, value in enumerate(task.profile.seconds, start=1) if math.isfinite(value))
    up, which = core.domain.up(), "up"
    needs = needs_on_host(task.spec, core.domain.memory_per_core)
    if any(needs) or task.spec.partition:
        up, which = core.domain.offering(needs, task.spec.partition), "up that have what it asks for"
    return f"it needs at least {plural(least, 'host')} and {len(up)} are {which}: it starts when more come back"
