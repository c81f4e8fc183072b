"""Changes that would make a waiting task end earlier: its place in the queue, other hosts, hosts that come back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.counts import plural
from cosched.durations import format_duration
from cosched.scheduling.decoding.decoder import decode
from cosched.scheduling.host_counts import best_seconds
from cosched.scheduling.plan import Plan
from cosched.scheduling.shapes import best_shape_seconds

if TYPE_CHECKING:
    from cosched.coscheduler.core import Coscheduler
    from cosched.scheduling.problem import Problem
    from cosched.scheduling.schedule import Assignment


__all__ = ["earlier_unreserved", "helpful_changes"]


_WORTH_A_CHANGE = 1.0  # seconds; news of ends come late by that


def helpful_changes(core: Coscheduler, problem: Problem, mine: Assignment, handover: float) -> list[str]:
    """Say what would make a waiting task end earlier, a sentence each.

    Args:
        core: with the plan in force.
        problem: the waiting tasks, the one asked about among them.
        mine: its place in the plan.
        handover: seconds from a decision to the start of its job.
    """
    place = problem.tasks.index(mine.task)
    plan = core.plan.for_problem(problem)
    order = np.concatenate(([place], plan.order[plan.order != place]))
    schedule = decode(problem, Plan(order, plan.counts, plan.classes))
    # Tasks that it comes after go before it all the same.
    first = next(a for a in schedule.assignments if a.task == mine.task)
    found = []
    if first.end <= mine.end - _WORTH_A_CHANGE:
        found.append(f"first in the queue it would end {format_duration(mine.end - first.end)} earlier")
    found += _quicker(problem, place, mine, handover)
    down = len(core.domain.hosts) - len(problem.hosts)
    if down:
        found.append(
            "1 host is down: with it back the plan is made anew"
            if down == 1
            else f"{down} hosts are down: with them back the plan is made anew"
        )
    return found


def _quicker(problem: Problem, place: int, mine: Assignment, handover: float) -> list[str]:
    """Name the number of hosts, and of cores, on which a task would run quicker than planned.

    Problems reckon each task with the seconds of its hand-over, in which it does not run yet.
    """
    now = mine.end - mine.start - handover
    packing = problem.packing
    if packing is None or not packing.varied[place]:
        row = best_seconds(problem)[place]
        best = int(np.argmin(row)) + 1
        what, quickest = f"on {plural(best, 'host')}", float(row[best - 1])
        instead = f"on {len(mine.hosts)}"
    else:
        shapes = slice(int(packing.first[place]), int(packing.first[place + 1]))
        row = best_shape_seconds(problem, packing)[shapes]
        best = int(np.argmin(row))
        cores, hosts = int(packing.demand[shapes][best, 0]), int(packing.hosts[shapes][best])
        what, quickest = f"on {_cores_text(cores, hosts)}", float(row[best])
        instead = f"on {_cores_text(mine.taken[0], len(mine.hosts))}"
    quickest -= handover
    if quickest >= now - 1e-6:
        return []
    return [f"{what} it would run {format_duration(quickest)} instead of {format_duration(now)} {instead}"]


def _cores_text(cores: int, hosts: int) -> str:
    each = f"{cores} core{'s' * (cores > 1)}"
    return f"{each} of one host" if hosts == 1 else f"{each} of each of {hosts} hosts"


def earlier_unreserved(core: Coscheduler, mine: Assignment, time: float) -> float:
    """Return how many seconds earlier a task would end without reservations, or 0.0."""
    forecast = core.planning_view.unreserved(time) if core.reservations.live(time) else None
    if forecast is None:
        return 0.0
    earlier = mine.end - next(each.end for each in forecast[1].assignments if each.task == mine.task)
    return earlier if earlier > 1e-6 else 0.0
