"""Decoding in machine code where hosts come and go: the same results as `timelines`, bit for bit."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cosched.scheduling.jit import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Timelines", "place", "timelines"]

_SPARE = 8  # intervals of a host that there is room for at first


class Timelines(NamedTuple):
    """When each host has no time: the first `used[h]` columns of `begin` and `end`, ascending.

    Attributes:
        begin: (N, R) with a mark at the end of time.
        end: (N, R); before the first one the host is not there either.
        used: (N,).
        shortest: no task takes less time; what lies between two intervals and is shorter counts as one with them.
    """

    begin: NDArray[np.float64]
    end: NDArray[np.float64]
    used: NDArray[np.int64]
    shortest: float


@compiled
def timelines(free: NDArray[np.float64], absences: NDArray[np.float64], shortest: float) -> Timelines:
    """Return the hosts' time before any task is placed.

    Args:
        free: (N,) by host.
        absences: (A, 3) host, begin and end, ascending.
        shortest: run time of all.
    """
    hosts = free.shape[0]
    used = np.ones(hosts, dtype=np.int64)
    for index in range(absences.shape[0]):
        used[int(absences[index, 0])] += 1
    begin, end = np.full((hosts, used.max() + _SPARE), np.inf), np.full((hosts, used.max() + _SPARE), np.inf)
    begin[:, 0], end[:, 0] = -np.inf, free
    used[:] = 1
    for index in range(absences.shape[0]):
        host = int(absences[index, 0])
        begin[host, used[host]], end[host, used[host]] = absences[index, 1], absences[index, 2]
        used[host] += 1
    return Timelines(begin, end, used, shortest)


@compiled
def place(
    lines: Timelines, times: NDArray[np.float64], thresholds: NDArray[np.float64], count: int, ready: float
) -> tuple[Timelines, float, float]:
    """Place a task where it ends first; return the hosts' time then (`lines` itself, or a wider copy), start and end.

    Args:
        lines: changed.
        times: (N,) run time by the slowest host, infinite where one cannot be used.
        thresholds: the run times to try, ascending; infinite ones are not.
        count: number of hosts.
        ready: time that it may not start before.
    """
    best_start, best_end, best_threshold = 0.0, np.inf, np.inf
    for threshold in thresholds:
        if threshold < np.inf:
            start = _first_start(lines, times, threshold, count, ready)
            if start + threshold < best_end:
                best_start, best_end, best_threshold = start, start + threshold, threshold
    if best_end == np.inf:
        return lines, np.inf, np.inf
    if lines.used.max() + 1 >= lines.begin.shape[1]:
        lines = _wider(lines)
    _take(lines, times, best_threshold, count, best_start)
    return lines, best_start, best_end


@compiled
def _wider(lines: Timelines) -> Timelines:
    hosts, room = lines.begin.shape
    begin, end = np.full((hosts, 2 * room), np.inf), np.full((hosts, 2 * room), np.inf)
    begin[:, :room], end[:, :room] = lines.begin, lines.end
    return Timelines(begin, end, lines.used, lines.shortest)


@compiled
def _first_start(lines: Timelines, times: NDArray[np.float64], threshold: float, count: int, ready: float) -> float:
    able = 0
    for time in times:
        able += time <= threshold
    if count > able:
        return np.inf
    fits = np.empty(able)
    start = ready
    while True:
        place = 0
        for host in range(times.shape[0]):
            if times[host] <= threshold:
                fits[place] = _fit(lines, host, threshold, start)
                place += 1
        fits.sort()
        if fits[count - 1] <= start or fits[count - 1] == np.inf:
            return float(fits[count - 1])
        start = float(fits[count - 1])


@compiled
def _fit(lines: Timelines, host: int, seconds: float, start: float) -> float:
    place = _behind(lines, host, start) - 1
    while True:
        start = max(start, float(lines.end[host, place]))
        place += 1
        if place == lines.used[host] or start + seconds <= lines.begin[host, place]:
            return start


@compiled
def _behind(lines: Timelines, host: int, start: float) -> int:
    """Return the first place whose interval begins after a time."""
    low, high = 1, lines.used[host]
    while low < high:
        middle = (low + high) // 2
        if lines.begin[host, middle] <= start:
            low = middle + 1
        else:
            high = middle
    return int(low)


@compiled
def _take(lines: Timelines, times: NDArray[np.float64], threshold: float, count: int, start: float) -> None:
    """Occupy the hosts on which the least time is left behind the task, then before it."""
    hosts = times.shape[0]
    taken = np.zeros(hosts, dtype=np.bool_)
    behind, before = np.full(hosts, np.inf), np.full(hosts, np.inf)
    able = np.zeros(hosts, dtype=np.bool_)
    for host in range(hosts):
        if times[host] <= threshold and _fit(lines, host, threshold, start) == start:
            place = _behind(lines, host, start)
            able[host] = True
            behind[host] = lines.begin[host, place] if place < lines.used[host] else np.inf
            before[host] = -lines.end[host, place - 1]
    for _ in range(count):
        best = -1
        for host in range(hosts):
            if able[host] and not taken[host]:
                less = best < 0 or behind[host] < behind[best]
                if less or (behind[host] == behind[best] and before[host] < before[best]):
                    best = host
        taken[best] = True
    for host in range(hosts):
        if taken[host]:
            _occupy(lines, host, start, start + threshold)


@compiled
def _occupy(lines: Timelines, host: int, start: float, end: float) -> None:
    """Take a host's time; it becomes one with what was taken where no task would fit in between: few are kept so."""
    place, used = _behind(lines, host, start), lines.used[host]
    follows = lines.end[host, place - 1] + lines.shortest > start
    leads = place < used and end + lines.shortest > lines.begin[host, place]
    if follows and leads:
        lines.end[host, place - 1] = lines.end[host, place]
        for index in range(place, used - 1):
            lines.begin[host, index] = lines.begin[host, index + 1]
            lines.end[host, index] = lines.end[host, index + 1]
        lines.used[host] -= 1
    elif follows:
        lines.end[host, place - 1] = end
    elif leads:
        lines.begin[host, place] = start
    else:
        for index in range(used, place, -1):
            lines.begin[host, index] = lines.begin[host, index - 1]
            lines.end[host, index] = lines.end[host, index - 1]
        lines.begin[host, place], lines.end[host, place] = start, end
        lines.used[host] += 1
