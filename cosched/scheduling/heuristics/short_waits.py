"""Heuristic plans for a small mean slowdown: small tasks first, or those that have waited longest for their size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.heuristics.list_scheduling import list_order
from cosched.scheduling.host_counts import useful_count_seconds
from cosched.scheduling.objective.slowdown import Slowdowns
from cosched.scheduling.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from cosched.scheduling.problem import Problem

    _Lister = Callable[[Problem, Sequence[int], Sequence[int], Sequence[float]], list[int]]

__all__ = ["short_wait_plans", "slowdown_keys"]


def short_wait_plans(problem: Problem, lister: _Lister = list_order) -> Iterator[Plan]:
    """Yield a plan for each of the orders of `slowdown_keys`, on the cheapest counts and on the quickest ones.

    Each is list scheduled after Graham: a small task behind a wide one starts before it where it fits.

    Args:
        problem: it says how long its tasks have waited.
        lister: does what `list_scheduling.list_order` does.
    """
    seconds = useful_count_seconds(problem)
    tasks, areas = np.arange(len(seconds)), seconds * np.arange(1, seconds.shape[1] + 1)
    done: set[bytes] = set()
    for columns in (areas.argmin(axis=1), seconds.argmin(axis=1)):
        if columns.tobytes() in done:
            continue
        done.add(columns.tobytes())
        length, counts = seconds[tasks, columns], columns.astype(np.int64) + 1
        for key in slowdown_keys(problem, length, areas[tasks, columns]):
            order = lister(problem, np.argsort(key, kind="stable").tolist(), counts.tolist(), length.tolist())
            yield Plan(np.array(order, dtype=np.int64), counts)


def slowdown_keys(
    problem: Problem, length: NDArray[np.float64], area: NDArray[np.float64]
) -> tuple[NDArray[np.float64], ...]:
    """Return numbers of tasks by whose ascending order slowdown is small.

    They are the host-seconds that a unit of slowdown costs (Smith, "Various optimizers for single-stage production",
    1956), the run time, and the slowdown that there would be if it began now, the largest first.

    Args:
        problem: it says how long its m tasks have waited.
        length: (m,) seconds.
        area: (m,) host-seconds, or parts of hosts.
    """
    slowdowns = Slowdowns.of(problem)
    return area / slowdowns.rate, length, -(slowdowns.waited + length) * slowdowns.rate
