"""Bounds of the work of elastic tasks: the least host-seconds with which one ends within a time.

Start at `WorkMixture`; `bounds.py` makes lower bounds of the makespan of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["WorkMixture"]


class WorkMixture:
    """What a task that changes its hosts as it runs needs at least.

    If it does a part p of itself on each number n of hosts, it takes the sum of p·t(n) seconds and of p·n·t(n)
    host-seconds, so that the least work within a time lies on the lower convex hull of the points (t(n), n·t(n)).
    """

    def __init__(self, seconds: Sequence[float]) -> None:
        """Find the hull.

        Args:
            seconds: run times on 1, 2, … hosts, infinite where it cannot run on so many; one at least is finite.
        """
        times = np.asarray(seconds, dtype=np.float64)
        points = sorted((time, (place + 1) * time) for place, time in enumerate(times.tolist()) if np.isfinite(time))
        hull: list[tuple[float, float]] = []
        for point in points:
            if hull and point[1] >= hull[-1][1]:
                continue  # it takes longer, and is no less work
            while len(hull) > 1 and _is_above(hull[-1], hull[-2], point):
                hull.pop()
            hull.append(point)
        self._times, self._work = np.array(hull).T

    def least(self, seconds: float) -> float:
        """Return the least host-seconds within so many seconds; infinite where it cannot end by then."""
        if seconds < self._times[0]:
            return float("inf")
        return float(np.interp(seconds, self._times, self._work))


def _is_above(middle: tuple[float, float], left: tuple[float, float], right: tuple[float, float]) -> bool:
    """Return whether a point lies on or above the line through its neighbours."""
    (x, y), (a, b), (c, d) = middle, left, right
    return (y - b) * (c - a) >= (d - b) * (x - a)
