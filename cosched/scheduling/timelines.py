"""From a plan to a schedule where hosts come and go: tasks fill the holes that absences leave.

Where hosts only become free and stay, holes need not be filled (see `decoder`). Here they do: a task that fits in
before its hosts leave should not wait until they are back, whoever is ahead of it in the order. Each task in the plan's
order starts as early as it can without moving another, on the hosts whose gaps it fills most tightly.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from cosched.scheduling.schedule import Assignment, Schedule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cosched.scheduling.problem import Plan, Problem

__all__ = ["decode_around", "soonest_around"]

_INF = float("inf")
_Gaps = list[list[tuple[float, float]]]  # for each host when it has time, ascending


def decode_around(problem: Problem, order: Sequence[int], plan: Plan, *, in_order: bool = False) -> Schedule:
    """Return the schedule of a plan; arguments as of `decoder.decode`, `order` with every predecessor ahead.

    Raises:
        ValueError: a host count cannot be used for its task, or not for long enough.
    """
    return Schedule(tuple(_placed(problem, order, plan, _gaps(problem), in_order=in_order)))


def soonest_around(problem: Problem, order: Sequence[int], plan: Plan, task: int) -> Assignment | None:
    """Return where one more task ends first behind others (ties: on fewer hosts), on hosts of any class.

    Args:
        problem: with the task.
        order: the others, every predecessor ahead.
        plan: counts and classes of the others.
        task: the one more.

    Returns:
        Its place; None where no number of hosts is there for long enough.
    """
    gaps = _gaps(problem)
    for _ in _placed(problem, order, plan, gaps):
        pass
    classes, ready = problem.host_class.tolist(), float(problem.release[task])
    best: tuple[float, float, list[int]] = (0.0, _INF, [])
    for count in range(1, len(problem.hosts) + 1):
        seconds = problem.seconds[:, task, count - 1].tolist()
        found = _first_to_end(gaps, [seconds[each] for each in classes], count, ready)
        if found[1] < best[1]:
            best = found
    start, end, chosen = best
    names = tuple(problem.hosts[host] for host in sorted(chosen))
    return Assignment(problem.tasks[task], names, start, end) if chosen else None


def _placed(
    problem: Problem, order: Sequence[int], plan: Plan, gaps: _Gaps, *, in_order: bool = False
) -> Iterator[Assignment]:
    """Yield the tasks' places, taking their time from the gaps."""
    counts = plan.counts.tolist()
    wanted = [-1] * len(counts) if plan.classes is None else plan.classes.tolist()
    classes, release = problem.host_class.tolist(), problem.release.tolist()
    before = problem.depends_on or ((),) * len(problem.tasks)
    shortest = _shortest(problem)
    ends: dict[int, float] = {}
    latest = 0.0
    for task in order:
        ready = max([release[task], latest, *[ends[other] for other in before[task]]])
        seconds = problem.seconds[:, task, min(max(counts[task], 1), len(problem.hosts)) - 1].tolist()
        if wanted[task] >= 0:
            seconds = [value if k == wanted[task] else _INF for k, value in enumerate(seconds)]
        times = [seconds[each] for each in classes]
        start, end, chosen = _first_to_end(gaps, times, counts[task], ready)
        if not chosen:
            raise ValueError(f"task {problem.tasks[task]} cannot run on {counts[task]} of {len(problem.hosts)} hosts")
        for host in chosen:
            _take(gaps[host], start, end, shortest)
        latest = start if in_order else latest
        ends[task] = end
        names = tuple(problem.hosts[host] for host in sorted(chosen))
        yield Assignment(problem.tasks[task], names, start, end)


def _gaps(problem: Problem) -> _Gaps:
    """Return for each host when it has time; the last gap has no end unless the host leaves for good."""
    gaps: _Gaps = [[(free, _INF)] for free in problem.free.tolist()]
    for absence in problem.absences:  # ascending: it lies in the host's last gap
        begin, end = gaps[absence.host].pop()
        gaps[absence.host] += [(begin, absence.begin), (absence.end, end)]
    return gaps


def _shortest(problem: Problem) -> float:
    """Return the shortest run time of all: what is shorter than that is no gap."""
    return float(problem.seconds.min(initial=_INF))


def _take(gaps: list[tuple[float, float]], start: float, end: float, shortest: float) -> None:
    place = bisect_right(gaps, (start, _INF)) - 1
    first, last = gaps[place]
    left = [(first, start), (end, last)]
    gaps[place : place + 1] = [(begin, until) for begin, until in left if begin + shortest <= until]


def _first_to_end(gaps: _Gaps, times: list[float], count: int, ready: float) -> tuple[float, float, list[int]]:
    """Return (start, end, hosts) of the slowest class allowed that ends first; no hosts where none can."""
    best: tuple[float, float, list[int]] = (0.0, _INF, [])
    for threshold in sorted({value for value in times if value != _INF}):
        able = [host for host, value in enumerate(times) if value <= threshold]
        start = _first_start(gaps, able, threshold, count, ready)
        if start + threshold < best[1]:
            best = (start, start + threshold, _tightest(gaps, able, threshold, count, start))
    return best


def _first_start(gaps: _Gaps, able: list[int], seconds: float, count: int, ready: float) -> float:
    """Return the earliest time from `ready` on at which so many of the hosts are free for so long."""
    if not 1 <= count <= len(able):
        return _INF
    start = ready
    while True:
        # No later than the count-th of these can it start; who can then need not be who could before.
        fits = sorted([_fit(gaps[host], seconds, start) for host in able])
        if count == 1 or fits[count - 1] <= start or fits[count - 1] == _INF:
            return fits[count - 1]
        start = fits[count - 1]


def _fit(gaps: list[tuple[float, float]], seconds: float, start: float) -> float:
    """Return the earliest time from `start` on at which one host is free for so long."""
    for begin, end in gaps:
        first = begin if begin > start else start
        if first + seconds <= end:
            return first
    return _INF


def _tightest(gaps: _Gaps, able: list[int], seconds: float, count: int, start: float) -> list[int]:
    """Return the hosts on which the least time is left behind the task, then before it."""
    found = []
    for host in able:
        for begin, end in gaps[host]:
            if begin > start:
                break
            if start + seconds <= end:
                found.append((end, -begin, host))
                break
    return [host for _, _, host in sorted(found)[:count]]
