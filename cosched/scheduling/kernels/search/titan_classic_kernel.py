"""Decode and evaluate Titan's solutions (see `search.titan_classic`): an order of tasks, and hosts for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.kernels.jit import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.scheduling.kernels.decoding.problem_tables import ProblemTables

    _Orders = NDArray[np.int64]
    _Maps = NDArray[np.bool_]

__all__ = ["decode_sets", "population_costs", "possible_sets"]


@compiled
def possible_sets(problem: ProblemTables, maps: _Maps) -> _Maps:
    """Return (P, m): whether each set can run its task."""
    possible = np.empty(maps.shape[:2], dtype=np.bool_)
    for individual in range(maps.shape[0]):
        for task in range(maps.shape[1]):
            possible[individual, task] = _seconds(problem, task, maps[individual, task]) < np.inf
    return possible


@compiled
def _seconds(problem: ProblemTables, task: int, hosts: NDArray[np.bool_]) -> float:
    """Return the run time on a set of hosts; infinite if they cannot run it.

    An empty set cannot run any task.
    """
    count = hosts.sum()
    if count == 0 or count > problem.seconds.shape[2]:
        return np.inf
    slowest = 0.0
    for host in range(hosts.shape[0]):
        if hosts[host]:
            slowest = max(slowest, problem.seconds[problem.host_class[host], task, count - 1])
    return slowest


@compiled
def population_costs(
    problem: ProblemTables, weights: NDArray[np.float64], orders: _Orders, maps: _Maps
) -> NDArray[np.float64]:
    """Return (P,) costs, with (3,) weights of makespan, idle time and lateness."""
    costs = np.empty(orders.shape[0])
    starts, ends = np.empty(orders.shape[1]), np.empty(orders.shape[1])
    for individual in range(orders.shape[0]):
        free = problem.free.copy()
        idle, moment = decode_sets(problem, orders[individual], maps[individual], free, starts, ends)
        makespan = ends.max()
        late = 0.0
        for task in range(ends.shape[0]):
            late += max(0.0, float(ends[task] - problem.deadline[task]))
        for host in range(free.shape[0]):
            if free[host] < makespan:  # the last pocket, up to the makespan
                idle += makespan - free[host]
                moment += makespan * makespan - free[host] * free[host]
        pockets = (2 * makespan * idle - moment) / (makespan * makespan)
        costs[individual] = weights[0] * makespan + weights[1] * pockets + weights[2] * late
    return costs


@compiled
def decode_sets(
    problem: ProblemTables,
    order: NDArray[np.int64],
    sets: _Maps,
    free: NDArray[np.float64],
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
) -> tuple[float, float]:
    """Fill in starts and ends by task, and measure the idle time before tasks.

    Returns Σ ΔT and Σ ((T + ΔT)² - T²) over the idle pockets, which begin at T and last ΔT seconds.
    """
    idle, moment = 0.0, 0.0
    for position in range(order.shape[0]):
        task = order[position]
        start = problem.release[task]
        for index in range(problem.first[task], problem.first[task + 1]):
            start = max(start, ends[problem.before[index]])
        for host in range(free.shape[0]):
            if sets[task, host]:
                start = max(start, free[host])
        end = start + _seconds(problem, task, sets[task])
        for host in range(free.shape[0]):
            if sets[task, host]:
                idle += start - free[host]
                moment += start * start - free[host] * free[host]
                free[host] = end
        starts[task], ends[task] = start, end
    return idle, moment
