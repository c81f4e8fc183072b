"""From a plan to a schedule where hosts come and go: tasks fill the holes that absences leave.

Where hosts only become free and stay, holes need not be filled (see `decoder`). Here they do: a task that fits in
before its hosts leave should not wait until they are back, whoever is ahead of it in the order. Each task in the plan's
order starts as early as it can without moving another, on the hosts whose gaps it fills most tightly.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from typing import TYPE_CHECKING

from cosched.scheduling.schedule import Assignment, Schedule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.scheduling.problem import Plan, Problem

__all__ = ["decode_around"]

_INF = float("inf")


def decode_around(problem: Problem, order: Sequence[int], plan: Plan, *, in_order: bool = False) -> Schedule:
    """Return the schedule of a plan; arguments as of `decoder.decode`, `order` with every predecessor ahead.

    Raises:
        ValueError: a host count cannot be used for its task, or not for long enough.
    """
    busy = _busy(problem)
    counts = plan.counts.tolist()
    wanted = [-1] * len(counts) if plan.classes is None else plan.classes.tolist()
    classes, release = problem.host_class.tolist(), problem.release.tolist()
    before = problem.depends_on or ((),) * len(problem.tasks)
    ends: dict[int, float] = {}
    assignments = []
    latest = 0.0
    for task in order:
        ready = max([release[task], latest, *[ends[other] for other in before[task]]])
        seconds = problem.seconds[:, task, min(max(counts[task], 1), len(problem.hosts)) - 1].tolist()
        if wanted[task] >= 0:
            seconds = [value if k == wanted[task] else _INF for k, value in enumerate(seconds)]
        times = [seconds[each] for each in classes]
        start, end, chosen = _first_to_end(busy, times, counts[task], ready)
        if not chosen:
            raise ValueError(f"task {problem.tasks[task]} cannot run on {counts[task]} of {len(problem.hosts)} hosts")
        for host in chosen:
            insort(busy[host], (start, end))
        latest = start if in_order else latest
        ends[task] = end
        names = tuple(problem.hosts[host] for host in sorted(chosen))
        assignments.append(Assignment(problem.tasks[task], names, start, end))
    return Schedule(tuple(assignments))


def _busy(problem: Problem) -> list[list[tuple[float, float]]]:
    """Return for each host when it has no time, ascending, with a mark at either end of time."""
    busy = [[(-_INF, free), (_INF, _INF)] for free in problem.free.tolist()]
    for absence in problem.absences:
        insort(busy[absence.host], (absence.begin, absence.end))
    return busy


def _first_to_end(
    busy: list[list[tuple[float, float]]], times: list[float], count: int, ready: float
) -> tuple[float, float, list[int]]:
    """Return (start, end, hosts) of the slowest class allowed that ends first; no hosts where none can."""
    best: tuple[float, float, list[int]] = (0.0, _INF, [])
    for threshold in sorted({value for value in times if value != _INF}):
        able = [host for host, value in enumerate(times) if value <= threshold]
        start = _first_start(busy, able, threshold, count, ready)
        if start + threshold < best[1]:
            best = (start, start + threshold, _tightest(busy, able, threshold, count, start))
    return best


def _first_start(
    busy: list[list[tuple[float, float]]], able: list[int], seconds: float, count: int, ready: float
) -> float:
    """Return the earliest time from `ready` on at which so many of the hosts are free for so long."""
    if not 1 <= count <= len(able):
        return _INF
    start = ready
    while True:
        # No later than the count-th of these can it start; who can then need not be who could before.
        fits = sorted([_fit(busy[host], seconds, start) for host in able])
        if fits[count - 1] <= start or fits[count - 1] == _INF:
            return fits[count - 1]
        start = fits[count - 1]


def _fit(busy: list[tuple[float, float]], seconds: float, start: float) -> float:
    """Return the earliest time from `start` on at which one host is free for so long."""
    place = bisect_right(busy, (start, _INF)) - 1
    while True:
        start = max(start, busy[place][1])
        place += 1
        if place == len(busy) or start + seconds <= busy[place][0]:
            return start


def _tightest(
    busy: list[list[tuple[float, float]]], able: list[int], seconds: float, count: int, start: float
) -> list[int]:
    """Return the hosts on which the least time is left behind the task, then before it."""
    gaps = []
    for host in able:
        if _fit(busy[host], seconds, start) == start:
            place = bisect_right(busy[host], (start, _INF))
            gaps.append((busy[host][place][0], -busy[host][place - 1][1], host))
    return [host for _, _, host in sorted(gaps)[:count]]
