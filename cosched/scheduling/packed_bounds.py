"""Lower bounds of the makespan where tasks share hosts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.availability import Unavailability, normalised_availability
from cosched.scheduling.shapes import quickest_shape_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from cosched.scheduling.packing import Packing
    from cosched.scheduling.problem import Problem

__all__ = ["resource_areas"]

_MOST_THRESHOLDS = 12


def resource_areas(
    problem: Problem, packing: Packing
) -> Iterator[tuple[Problem, NDArray[np.float64], NDArray[np.float64] | None]]:
    """Yield necessary work and what offers it: hosts as a problem has them, (S,) areas, prices of the hosts.

    First by each resource: what tasks take of it, against what all hosts have of it. Then by places on hosts: of tasks
    that take more than half of a host no two are side by side, whatever is left beside them. A dual feasible function
    makes of a task's part of a host a number so that the numbers of tasks that fit side by side sum up to 1 at most
    (Fekete, Schepers: Mathematical Programming 91(1), 2001), and so each is a bound.
    """
    seconds = quickest_shape_seconds(problem, packing)
    work = packing.hosts.astype(np.float64) * np.where(np.isfinite(seconds), seconds, 0.0)
    # What no host has is asked for in shapes alone that are not possible.
    for resource in np.flatnonzero(packing.demand.any(axis=0) & packing.capacity.any(axis=0)).tolist():
        offered, amounts = _portions(problem, packing, resource)
        demand = packing.demand[:, resource].astype(np.float64)
        yield offered, work * demand, amounts
        taken, most = packing.demand[:, resource], int(packing.capacity[:, resource].max())
        part = demand / most
        for threshold in _thresholds(taken, most):  # in whole amounts: 7/12 is above 1 - 5/12 in floats
            rounded = np.where(2 * (most - taken) < threshold, 1.0, np.where(2 * taken >= threshold, part, 0.0))
            yield problem, work * rounded, None
        for number in (1, 2, 3):
            times, rest = np.divmod((number + 1) * taken, most)
            yield problem, work * np.where(rest == 0, part, times / number), None


def _thresholds(taken: NDArray[np.int64], most: int) -> list[int]:
    """Return twice the amounts up to a half of the most, or twice some of them, and the most for the half itself."""
    found = np.unique(taken[(taken > 0) & (2 * taken <= most)])
    if len(found) > _MOST_THRESHOLDS:
        found = found[np.linspace(0, len(found) - 1, _MOST_THRESHOLDS).astype(np.int64)]
    return [*(2 * found).tolist(), most]


def _portions(problem: Problem, packing: Packing, resource: int) -> tuple[Problem, NDArray[np.float64]]:
    """Return the problem with a host for each part of a host that becomes free at its own time, and what each has."""
    left = packing.capacity[:, resource].astype(np.float64)
    portions = []
    for host, until, taken in packing.held:
        left[host] -= taken[resource]
        portions.append((host, max(until, float(problem.free[host])), float(taken[resource])))
    portions += [(host, float(problem.free[host]), had) for host, had in enumerate(left.tolist())]
    portions = [portion for portion in portions if portion[2] > 0]
    unavailability = [
        Unavailability(number, period.begin, period.end)
        for number, (host, _, _) in enumerate(portions)
        for period in problem.unavailability
        if period.host == host
    ]
    free, away = normalised_availability(np.array([portion[1] for portion in portions]), unavailability)
    return replace(problem, free=free, unavailability=away), np.array([portion[2] for portion in portions])
