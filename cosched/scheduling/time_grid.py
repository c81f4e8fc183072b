"""Times on a grid: where all times of a problem are whole numbers of some unit, so are the ends of its schedules."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.host_counts import narrowed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.scheduling.problem import Problem

__all__ = ["rounded_bound", "units_a_second"]

_PARTS = (1, 10, 100, 1000)  # of a second, tried in turn
_MOST_TIMES = 1_000_000  # beyond these nobody looks for a grid
_ROUNDING = 1e-9  # relative; what sums of times may be off by


def units_a_second(times: NDArray[np.float64]) -> float | None:
    """Return how many of the longest unit a second has of which all times are whole numbers; None without one."""
    for parts in _PARTS:
        units = np.rint(times * parts)
        if np.all(np.abs(times * parts - units) <= 1e-12 * np.maximum(units, 1.0)):
            return parts / max(int(np.gcd.reduce(units.astype(np.int64))), 1)
    return None


def rounded_bound(problem: Problem, bound: float) -> float:
    """Return a lower bound of the makespan, raised to the next time at which a schedule can end.

    A schedule in which nothing can begin earlier starts tasks where they are released or something ends: all of it lies
    on the grid of the problem's times, if there is one.
    """
    seconds = narrowed(problem).seconds
    others = problem.packing, problem.elastic, problem.licences  # tasks wait for more than hosts, or change theirs
    if any(other is not None for other in others) or seconds.size > _MOST_TIMES:
        return bound
    away = [time for period in problem.unavailability for time in (period.begin, period.end)]
    times = np.concatenate([seconds.ravel(), problem.free, problem.release, np.array(away)])
    units = units_a_second(times[np.isfinite(times)])
    return bound if units is None else max(bound, math.ceil(bound * units * (1 - _ROUNDING)) / units)
