"""Find the shapes in which a task can run on shared hosts, and those worth using."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.host_counts import longest_stay, staying_hosts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.scheduling.packing import Packing
    from cosched.scheduling.problem import Problem

__all__ = ["best_shape_seconds", "by_task", "quickest_shape_seconds", "shape_choices", "useful_shapes"]


def best_shape_seconds(problem: Problem, packing: Packing) -> NDArray[np.float64]:
    """Return (S,): each shape's shortest run time on idle hosts; infinite where too few hosts have what it takes."""
    return _best_on(problem, packing, staying_hosts(problem))


def quickest_shape_seconds(problem: Problem, packing: Packing) -> NDArray[np.float64]:
    """Return `best_shape_seconds` for lower bounds, as `host_counts.quickest_seconds` are."""
    best, stay = best_shape_seconds(problem, packing), longest_stay(problem)
    if not stay:
        return best
    sooner = _best_on(problem, packing, np.isfinite(problem.free))
    return np.where(np.isfinite(best) & (sooner <= stay), sooner, best)


def _best_on(problem: Problem, packing: Packing, hosts: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return (S,): each shape's shortest run time on some hosts, if these were idle."""
    kinds, sizes = np.unique(np.column_stack((problem.host_class, packing.capacity))[hosts], axis=0, return_counts=True)
    fits = [_fits(packing.demand, size) for size in kinds[:, 1:].tolist()]
    best = np.full(len(packing.hosts), np.inf)
    for slowest in np.unique(kinds[:, 0]).tolist():
        threshold, able = packing.seconds[:, slowest], np.zeros(len(best), dtype=np.int64)
        for fit, kind, count in zip(fits, kinds[:, 0].tolist(), sizes.tolist(), strict=True):
            able += count * (fit & (packing.seconds[:, kind] <= threshold))
        best = np.where(able >= packing.hosts, np.minimum(best, threshold), best)
    return best


def _fits(demand: NDArray[np.int64], size: list[int]) -> NDArray[np.bool_]:
    """Return (S,): whether a host of a size has what each shape takes of one."""
    fits = np.ones(len(demand), dtype=np.bool_)
    for amount, had in zip(demand.T, size, strict=True):  # column by column: rows are short
        fits &= amount <= had
    return fits


def useful_shapes(packing: Packing) -> NDArray[np.bool_]:
    """Return (S,): which shapes a plan needs to consider, at least one of each task.

    A shape is never needed where another of the same task is as quick on every class, takes no more hosts and no more
    of each (the Pareto front; of equals the first stays).
    """
    kept = np.ones(len(packing.hosts), dtype=np.bool_)
    costs = np.column_stack((packing.hosts, packing.demand, packing.seconds))
    for first, end in pairwise(packing.first.tolist()):
        if end > first + 1:
            mine = costs[first:end]
            as_good = (mine[:, np.newaxis] <= mine[np.newaxis]).all(axis=2)  # [i, j]: i costs no more than j
            # Of two that are as good as each other the first stays.
            kept[first:end] = ~(as_good & (~as_good.T | np.tri(end - first, k=-1, dtype=np.bool_).T)).any(axis=0)
    return kept


def by_task(packing: Packing, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (m, W) values of each task's shapes from (S,) of all; infinite where a task has fewer."""
    counts = np.diff(packing.first)
    table = np.full((len(counts), int(counts.max())), np.inf)
    table[packing.owner, np.arange(len(values)) - packing.first[packing.owner]] = values
    return table


def shape_choices(problem: Problem, packing: Packing) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the shapes that are worth using and possible, and (m+1,) where each task's begin."""
    rows = np.flatnonzero(useful_shapes(packing) & np.isfinite(best_shape_seconds(problem, packing)))
    return rows.astype(np.int64), np.searchsorted(rows, packing.first).astype(np.int64)
