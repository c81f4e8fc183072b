"""Balance identical hosts by exchanging one-host tasks between the last host and earlier ones.

What a list schedule loses against the area bound is mostly its ragged end. After a host's last wide task there is
nothing but tasks that run on it alone; those may change hosts freely, one by one or two for each other (the interchange
of Finn and Horowitz: BIT 19, 1979). For tasks without releases and predecessors. Loading this module loads numba.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.kernels.jit import compiled
from cosched.scheduling.plan import Plan

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.scheduling.problem import Problem

__all__ = ["balanced_load"]

_STEPS_PER_HOST = 8


def balanced_load(problem: Problem, plan: Plan, seconds: NDArray[np.float64]) -> Plan:
    """Return a plan with the same host counts that ends no later.

    Args:
        problem: identical hosts, no releases, no dependencies.
        plan: plan of all its tasks.
        seconds: run time of each task by host count, as far as any task can use.
    """
    tasks, hosts = len(plan.order), len(problem.hosts)
    # A task of no length on every host makes a move the same as an exchange.
    lengths = np.concatenate((seconds[np.arange(tasks), plan.counts - 1], np.zeros(hosts)))
    starts = _level(plan.order, plan.counts, np.sort(problem.free), lengths, _STEPS_PER_HOST * hosts)
    return Plan(np.argsort(starts, kind="stable").astype(np.int64), plan.counts)


@compiled
def _level(
    order: NDArray[np.int64],
    counts: NDArray[np.int64],
    free: NDArray[np.float64],
    lengths: NDArray[np.float64],
    steps: int,
) -> NDArray[np.float64]:
    """Return (m,) starts after at most `steps` exchanges.

    `free` is ascending, and changed.
    """
    tasks, hosts = order.shape[0], free.shape[0]
    starts, host_of = np.empty(tasks), np.empty(tasks + hosts, dtype=np.int64)
    base = _placed(order, counts, free.copy(), lengths, starts, host_of)
    host_of[tasks:] = np.arange(hosts)
    singles = np.argsort(host_of, kind="mergesort")[(host_of < 0).sum() :]
    first = np.zeros(hosts + 1, dtype=np.int64)
    loads = base.copy()
    for task in singles:
        first[host_of[task] + 1] += 1
        loads[host_of[task]] += lengths[task]
    first = np.cumsum(first)
    _exchange(first, singles, lengths, loads, steps)
    for host in range(hosts):
        start = base[host]
        for index in range(first[host], first[host + 1]):
            if singles[index] < tasks:
                starts[singles[index]] = start
                start += lengths[singles[index]]
    return starts


@compiled
def _placed(
    order: NDArray[np.int64],
    counts: NDArray[np.int64],
    free: NDArray[np.float64],
    lengths: NDArray[np.float64],
    starts: NDArray[np.float64],
    host_of: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Decode with host indices; fill in starts and the hosts of one-host tasks.

    `host_of` is -1 for tasks that may not move.

    Returns:
        (N,) when the last task ends that may not move, by host.
    """
    hosts = free.shape[0]
    base, name = free.copy(), np.arange(hosts)
    for task in order:
        count = counts[task]
        starts[task] = free[count - 1]
        end = starts[task] + lengths[task]
        host_of[task] = name[0]
        taken = name[:count].copy()
        if count > 1:
            base[taken] = end
        place = count
        while place < hosts and free[place] <= end:
            free[place - count], name[place - count] = free[place], name[place]
            place += 1
        free[place - count : place] = end
        name[place - count : place] = taken
    for task in order:
        if counts[task] > 1 or starts[task] < base[host_of[task]]:
            host_of[task] = -1
    return base


@compiled
def _exchange(
    first: NDArray[np.int64],
    singles: NDArray[np.int64],
    lengths: NDArray[np.float64],
    loads: NDArray[np.float64],
    steps: int,
) -> None:
    """Exchange tasks between the last host to end and the earliest that helps both."""
    for _ in range(steps):
        last = int(loads.argmax())
        improved = False
        for other in np.argsort(loads):
            one, two, gain = _best_pair(first, singles, lengths, last, int(other), loads[last] - loads[other])
            if one >= 0:
                singles[one], singles[two] = singles[two], singles[one]
                loads[last] -= gain
                loads[other] += gain
                improved = True
                break
        if not improved:
            return


@compiled
def _best_pair(
    first: NDArray[np.int64],
    singles: NDArray[np.int64],
    lengths: NDArray[np.float64],
    last: int,
    other: int,
    gap: float,
) -> tuple[int, int, float]:
    """Return the tasks to exchange and the gain in balance; -1, -1 where nothing helps."""
    one, two, best, gain = -1, -1, gap * (1 - 1e-9), 0.0
    for here in range(first[last], first[last + 1]):
        for there in range(first[other], first[other + 1]):
            shift = lengths[singles[here]] - lengths[singles[there]]
            left = abs(gap - 2.0 * shift)
            if shift > 0 and left < best:
                one, two, best, gain = here, there, left, shift
    return one, two, gain
