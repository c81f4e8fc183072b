"""Heuristic plans of tasks that share hosts: shapes by a threshold of the run time, then an order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.plan import Plan
from cosched.scheduling.shapes import best_shape_seconds, by_task, useful_shapes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from cosched.scheduling.packing import Packing
    from cosched.scheduling.problem import Problem

    _Lister = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.int64]]

__all__ = ["packed_plans"]


def packed_plans(
    problem: Problem, packing: Packing, thresholds: int = 8, lister: _Lister | None = None
) -> Iterator[Plan]:
    """Yield plans, those with the smallest promise first.

    First the shapes: for a threshold each task takes the shape that takes least of the hosts, by its dominant resource,
    among those that run it within the threshold (its quickest where none does). Then orders: by what it takes, run time
    and part of a host descending, and by deadline where there are any, as in the two-phase method for host counts
    (`moldable_tasks.threshold_plans`).

    Args:
        problem: the problem to schedule.
        packing: what its tasks take of hosts.
        thresholds: largest number to try.
        lister: makes an order of a list, (m,) tasks and (m,) shapes; the list itself unless given.
    """
    seconds = best_shape_seconds(problem, packing)
    seconds = np.where(useful_shapes(packing), seconds, np.inf)
    total = np.maximum(packing.capacity.sum(axis=0), 1)
    part = (packing.area / total).max(axis=1)
    work = np.where(np.isfinite(seconds), part * seconds, np.inf)
    for shapes in _settled(packing, by_task(packing, seconds), by_task(packing, work), thresholds):
        length, area, of_host = seconds[shapes], work[shapes], part[shapes]
        keys = [(-area, -length), (-length, -area), (-length, -of_host), (-area, -of_host)]
        if np.isfinite(problem.deadline).any():
            keys.insert(0, (-length, problem.deadline))
        if problem.release.any():
            keys.insert(0, (-area, problem.release))
        for key in keys:
            order = np.lexsort(key).astype(np.int64)
            yield Plan(order if lister is None else lister(order, shapes), shapes)


def _settled(
    packing: Packing, seconds: NDArray[np.float64], work: NDArray[np.float64], most: int
) -> list[NDArray[np.int64]]:
    """Return (m,) shapes for the most promising thresholds, without repetition.

    What a threshold promises is the larger of the longest run time and the work, the makespan that nothing undercuts.
    """
    tasks, quickest = np.arange(len(seconds)), seconds.argmin(axis=1)
    distinct = np.unique(seconds[np.isfinite(seconds)])
    if len(distinct) > 4 * most:
        distinct = distinct[np.linspace(0, len(distinct) - 1, 4 * most).round().astype(np.int64)]
    found: dict[bytes, tuple[float, NDArray[np.int64]]] = {}
    for threshold in distinct.tolist():
        within = np.where(seconds <= threshold, work, np.inf)
        column = np.where(np.isfinite(within.min(axis=1)), within.argmin(axis=1), quickest)
        promise = max(float(seconds[tasks, column].max()), float(work[tasks, column].sum()))
        found.setdefault(column.tobytes(), (promise, packing.first[:-1] + column))
    return [shapes for _, shapes in sorted(found.values(), key=lambda item: item[0])[:most]]
