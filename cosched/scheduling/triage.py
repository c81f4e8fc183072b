"""Whom to keep on time and whom to give up, for identical hosts: the search's operators where deadlines come first.

A plan is read as a list of claims. In its order each task takes its hosts if it ends in time with them, else the
cheapest useful count that does; who cannot end in time on any is given up and goes behind all others, in the way of
nobody. How many are given up says little about how near a plan is to one fewer, so lateness is forgiven in part: one of
less than `mercy` seconds stays in place, on the hosts with which it ends first, and costs a part of a missed deadline.
Mercy shrinks to nothing by and by, as a temperature would. Loading this module loads numba.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.jit import compiled
from cosched.scheduling.operators import draw

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.scheduling.compiled import Tables

__all__ = ["recall", "triage"]


@compiled
def triage(
    problem: Tables, widths: NDArray[np.int64], first: NDArray[np.int64], mercy: float, unit: float,
    orders: NDArray[np.int64], counts: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:  # fmt: skip
    """Rewrite each plan of a population as above, and judge it.

    Args:
        problem: identical hosts, no dependencies.
        widths: useful host counts of all tasks: those of j are widths[first[j]:first[j+1]].
        first: see `widths`.
        mercy: seconds; 0 for none.
        unit: host-seconds that weigh as much as a missed deadline: of equals, those that need less are better.
        orders: (P, m), changed in place.
        counts: (P, m), changed in place.

    Returns:
        (P,) costs and (P,) numbers of missed deadlines.
    """
    individuals, tasks = orders.shape
    free, given_up = np.empty(problem.free.shape[0]), np.empty(tasks, dtype=np.int64)
    costs, missed = np.zeros(individuals), np.zeros(individuals, dtype=np.int64)
    shortest = _shortest(problem, widths, first)
    hopeless = problem.deadline - shortest + mercy  # once no host is free before
    for plan in range(individuals):
        free[:] = problem.free
        kept, lost, area, forgiven = 0, 0, 0.0, 0.0
        for position in range(tasks):
            task = orders[plan, position]
            due = problem.deadline[task]
            if free[0] >= hopeless[task] and free[0] + shortest[task] > due:
                given_up[lost] = task
                lost += 1
                continue
            count = counts[plan, task]
            end = max(free[count - 1], problem.release[task]) + problem.seconds[0, task, count - 1]
            if end > due:
                count, end = _claim(problem, widths[first[task] : first[task + 1]], task, free)
                late = end - due
                if late > 0.0:
                    if late >= mercy:
                        given_up[lost] = task
                        lost += 1
                        continue
                    missed[plan] += 1
                    forgiven += late
                counts[plan, task] = count
            orders[plan, kept] = task
            kept += 1
            area += count * problem.seconds[0, task, count - 1]
            place = count
            while place < free.shape[0] and free[place] <= end:
                free[place - count] = free[place]
                place += 1
            for host in range(place - count, place):
                free[host] = end
        orders[plan, kept:] = given_up[:lost]
        missed[plan] += lost
        costs[plan] = lost + area / unit
        if forgiven > 0.0:
            costs[plan] += forgiven / mercy
    return costs, missed


@compiled
def _shortest(problem: Tables, widths: NDArray[np.int64], first: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return each task's shortest run time, (m,) seconds."""
    shortest = np.full(first.shape[0] - 1, np.inf)
    for task in range(shortest.shape[0]):
        for count in widths[first[task] : first[task + 1]]:
            shortest[task] = min(shortest[task], problem.seconds[0, task, count - 1])
    return shortest


@compiled
def _claim(problem: Tables, widths: NDArray[np.int64], task: int, free: NDArray[np.float64]) -> tuple[int, float]:
    """Return the cheapest count that ends in time and its end, else the count that ends first."""
    best, best_end, least = widths[0], np.inf, np.inf
    for count in widths:
        seconds = problem.seconds[0, task, count - 1]
        end = max(free[count - 1], problem.release[task]) + seconds
        if end <= problem.deadline[task]:
            if count * seconds < least:
                best, best_end, least = count, end, count * seconds
        elif least == np.inf and end < best_end:
            best, best_end = count, end
    return best, best_end


@compiled
def recall(state: NDArray[np.uint64], share: float, missed: NDArray[np.int64], orders: NDArray[np.int64]) -> None:
    """In that share of the plans, draw one of as many tasks at the end as miss their deadlines ahead of some other."""
    individuals, tasks = orders.shape
    for plan in range(individuals):
        kept = tasks - missed[plan]
        if kept == tasks or draw(state) >= share:
            continue
        origin = kept + int(draw(state) * missed[plan])
        target = min(int(draw(state) * (kept + 1)), origin)
        task = orders[plan, origin]
        for place in range(origin, target, -1):
            orders[plan, place] = orders[plan, place - 1]
        orders[plan, target] = task
