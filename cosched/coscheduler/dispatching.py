"""Which waiting tasks leave now, given the plan: just in time, and never past a task they would delay."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cosched.scheduling.schedule import Assignment

__all__ = ["Departure", "departures", "departures_in_order"]

# Planned starts come from sums of floats; less than this from now is now. Seconds.
_NOW = 1e-6


class Departure(NamedTuple):
    """A task that leaves now, its hosts in rank order and its predicted run time in seconds."""

    task: str
    hosts: tuple[str, ...]
    seconds: float


def departures(assignments: Sequence[Assignment], idle: Sequence[str], ready: Callable[[str], bool]) -> list[Departure]:
    """Choose the tasks that leave now under a plan.

    First those whose planned start has come. Then, on hosts that would stay idle, waiting tasks in planned order that
    end before the plan needs those hosts: so a task that waits for hosts blocks nobody, and nobody delays it.

    Args:
        assignments: the decoded plan, in planned order; times in seconds from now.
        idle: hosts that are up and free.
        ready: whether a task may leave yet.
    """
    left = set(idle)
    leaving: list[Departure] = []
    behind: list[Assignment] = []
    needed: dict[str, float] = {}  # when the plan needs a host next
    for assignment in assignments:
        if assignment.start <= _NOW and left.issuperset(assignment.hosts) and ready(assignment.task):
            leaving.append(Departure(assignment.task, assignment.hosts, assignment.end - assignment.start))
            left.difference_update(assignment.hosts)
        else:
            behind.append(assignment)
            for host in assignment.hosts:
                needed[host] = min(needed.get(host, math.inf), assignment.start)
    for assignment in behind:
        if not left:
            break
        if ready(assignment.task):
            leaving.extend(_fill(assignment, left, needed))
    return leaving


def _fill(assignment: Assignment, left: set[str], needed: dict[str, float]) -> list[Departure]:
    seconds = assignment.end - assignment.start
    fitting = [host for host in left if needed.get(host, math.inf) >= seconds]
    if len(fitting) < len(assignment.hosts):
        return []
    # The tightest fit, so that long gaps stay for long tasks; the name makes the choice repeatable.
    fitting.sort(key=lambda host: (needed.get(host, math.inf), host))
    chosen = tuple(sorted(fitting[: len(assignment.hosts)]))
    left.difference_update(chosen)
    return [Departure(assignment.task, chosen, seconds)]


def departures_in_order(
    queue: Sequence[tuple[str, int, float]], idle: Sequence[str], ready: Callable[[str], bool]
) -> list[Departure]:
    """Choose the tasks that leave now under strict first-come-first-served: the head or nobody.

    Args:
        queue: (task, host count, predicted seconds) in order of arrival.
        idle: hosts that are up and free.
        ready: whether a task may leave yet.
    """
    left = sorted(idle)
    leaving: list[Departure] = []
    for task, count, seconds in queue:
        if count > len(left) or not ready(task):
            break
        leaving.append(Departure(task, tuple(left[:count]), seconds))
        left = left[count:]
    return leaving
