"""Decode a plan where hosts come and go: each return counts as another host.

A window is a time in which a host is there without a break. A task is never interrupted, so that it takes windows, one
of each of its hosts, and windows of hosts of one class that end together differ in nothing but when they become free: a
pool of them is what the hosts are to `decoder`, whose ways are followed. A task starts as soon as enough windows are
free that last as long as it runs; it takes those that end the soonest, of these the ones that became free last.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.scheduling.decoding.stairs import free_licences
from cosched.scheduling.host_counts import class_times, planned_times, single_class
from cosched.scheduling.schedule import Assignment, Schedule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cosched.scheduling.decoding.stairs import FreeLicences
    from cosched.scheduling.plan import Plan
    from cosched.scheduling.problem import Problem

__all__ = ["WindowDecoder", "WindowPool", "window_pools"]

_INF = float("inf")


class WindowDecoder:
    """Decodes on hosts that come and go. Orders have every predecessor ahead."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem

    def decode(self, order: Sequence[int], plan: Plan, *, in_order: bool = False) -> Schedule:
        """Return the schedule of a plan.

        Raises:
            ValueError: a host count cannot be used for its task, or not for long enough.
        """
        left, licences = window_pools(self._problem), free_licences(self._problem)
        places = self._place(order, plan, left, licences, in_order=in_order)
        return Schedule(tuple(place for _, place in places))

    def spans(self, order: Sequence[int], plan: Plan, *, in_order: bool = False) -> tuple[list[float], list[float]]:
        """Return starts and ends by task index."""
        starts = [float("nan")] * len(self._problem.tasks)
        ends = list(starts)
        left, licences = window_pools(self._problem), free_licences(self._problem)
        for task, place in self._place(order, plan, left, licences, in_order=in_order):
            starts[task], ends[task] = place.start, place.end
        return starts, ends

    def soonest(self, order: Sequence[int], plan: Plan, task: int) -> Assignment | None:
        """Return where one more task ends first behind the others."""
        problem = self._problem
        left, licences = window_pools(problem), free_licences(problem)
        for _ in self._place(order, plan, left, licences):
            pass
        table, ready = class_times(problem), float(problem.release[task])
        ready = ready if licences is None else max(ready, licences.free_from(task))
        ends = [
            _first_to_end(left, table[:, task, count].tolist(), count + 1, ready) for count in range(table.shape[2])
        ]
        count = min(range(len(ends)), key=lambda index: ends[index][1])
        start, end, threshold = ends[count]
        if end == _INF:
            return None
        hosts = _take(left, table[:, task, count].tolist(), threshold, count + 1, start)
        return Assignment(problem.tasks[task], tuple(problem.hosts[host] for host in hosts), start, end)

    def _place(
        self,
        order: Sequence[int],
        plan: Plan,
        left: list[WindowPool],
        licences: FreeLicences | None,
        *,
        in_order: bool = False,
    ) -> Iterator[tuple[int, Assignment]]:
        """Yield each task with its place, taking its hosts from the pools."""
        problem = self._problem
        seconds_of, counts = planned_times(problem, plan).T.tolist(), plan.counts.tolist()
        release, before = problem.release.tolist(), problem.depends_on or ((),) * len(problem.tasks)
        ends: dict[int, float] = {}
        latest = 0.0
        for task in order:
            ready = max([release[task], latest, *[ends[other] for other in before[task]]])
            ready = ready if licences is None else licences.ready(task, ready)
            seconds = seconds_of[task]
            start, end, threshold = _first_to_end(left, seconds, counts[task], ready)
            if end == _INF:
                raise ValueError(
                    f"task {problem.tasks[task]} cannot run on {counts[task]} of {len(problem.hosts)} hosts"
                )
            hosts = _take(left, seconds, threshold, counts[task], start)
            if licences is not None:
                licences.take(task, start, end)
            latest = start if in_order else latest
            ends[task] = end
            yield task, Assignment(problem.tasks[task], tuple([problem.hosts[host] for host in hosts]), start, end)


@dataclass(slots=True)
class WindowPool:
    """Windows that end together, of hosts that are alike.

    Attributes:
        until: when they end, in seconds; infinite for hosts that stay.
        host_class: the hosts' class.
        free: (when it becomes free, host) of each window, ascending.
    """

    until: float
    host_class: int
    free: list[tuple[float, int]]

    @property
    def key(self) -> tuple[float, int]:
        """The end and the host class that its windows share."""
        return self.until, self.host_class


def window_pools(problem: Problem) -> list[WindowPool]:
    """Return all windows that fit the shortest task, the soonest to end first."""
    found: dict[tuple[float, int], WindowPool] = {}
    alike = single_class(problem) is not None
    classes = [0] * len(problem.hosts) if alike else problem.host_class.tolist()
    shortest = float(problem.seconds.min(initial=_INF))
    for host, begin, end in _windows(problem):
        if begin + shortest <= end and begin < _INF:
            key = (end, classes[host])
            found.setdefault(key, WindowPool(*key, [])).free.append((begin, host))
    for pool in found.values():
        pool.free.sort()
    return [found[key] for key in sorted(found)]


def _windows(problem: Problem) -> Iterator[tuple[int, float, float]]:
    """Yield host, begin and end of each time in which a host is there."""
    begins = problem.free.tolist()
    for period in problem.unavailability:  # ascending
        yield period.host, begins[period.host], period.begin
        begins[period.host] = period.end
    for host, begin in enumerate(begins):
        yield host, begin, _INF


def _first_to_end(
    left: list[WindowPool], seconds: Sequence[float], count: int, ready: float
) -> tuple[float, float, float]:
    """Return start, end and run time of the earliest end; infinite without any."""
    best = (_INF, _INF, _INF)
    for threshold in sorted({value for value in seconds if value != _INF}):
        start = _first_start([pool for pool in left if seconds[pool.host_class] <= threshold], threshold, count, ready)
        if start + threshold < best[1]:
            best = (start, start + threshold, threshold)
    return best


def _first_start(able: list[WindowPool], seconds: float, count: int, ready: float) -> float:
    """Return the earliest time from `ready` when `count` hosts stay free for `seconds`."""
    able = [pool for pool in able if pool.free[0][0] + seconds <= pool.until and ready + seconds <= pool.until]
    soonest = sorted([when for pool in able for when, _ in pool.free[:count]])
    if not 1 <= count <= len(soonest):
        return _INF
    start = max(ready, soonest[count - 1])
    if count == 1:
        return start
    while True:
        able = [pool for pool in able if start + seconds <= pool.until]
        free = [bisect_right(pool.free, (start, _INF)) for pool in able]
        if sum(free) >= count:
            return start
        later = [pool.free[place][0] for pool, place in zip(able, free, strict=True) if place < len(pool.free)]
        if not later:
            return _INF
        start = min(later)


def _take(left: list[WindowPool], seconds: Sequence[float], threshold: float, count: int, start: float) -> list[int]:
    """Occupy hosts of the windows that end soonest, and return them in ascending order.

    In each pool the hosts freed last are taken first.
    """
    taken: list[int] = []
    end = start + threshold
    for pool in left:
        if end <= pool.until and seconds[pool.host_class] <= threshold and len(taken) < count:
            above = bisect_right(pool.free, (start, _INF))
            chosen = [host for _, host in pool.free[max(0, above - count + len(taken)) : above]]
            del pool.free[above - len(chosen) : above]
            for host in chosen:
                insort(pool.free, (end, host))
            taken += chosen
    return sorted(taken)
