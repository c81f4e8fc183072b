"""Place tasks on hosts that come and go, in machine code.

Results are those of `availability_windows`, bit for bit. Pools and runs are arrays of records: to pass a dozen arrays
to a function takes longer than its work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cosched.scheduling.decoding.availability_windows import window_pools
from cosched.scheduling.kernels.jit import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.scheduling.problem import Problem

__all__ = ["WindowTables", "place_in_windows", "tabulate_windows"]

_POOL = np.dtype(
    [
        ("until", np.float64),  # when its windows end
        ("host_class", np.int64),
        ("seconds", np.float64),  # run time of the task at hand where its hosts are the slowest, infinite for never
        ("head", np.int64),  # index of its first run
        ("tail", np.int64),  # one above that of its last
        ("free", np.int64),  # how many hosts are free when a task is to start, for as long as it runs
        ("next", np.int64),  # the first run of those that are not free then
    ]
)
_RUN = np.dtype([("when", np.float64), ("hosts", np.int64)])  # so many hosts become free then


class WindowTables(NamedTuple):
    """The windows of `window_pools`, in runs with one start time each.

    A run never holds less than one window and their number stays: each pool has room for as many runs as it has windows
    and one more, of which those in use are the last, ascending.

    Attributes:
        pools: (Q,) records, those that end the soonest first.
        runs: (R,) records.
    """

    pools: NDArray[Any]
    runs: NDArray[Any]


def tabulate_windows(problem: Problem) -> WindowTables:
    """Return the windows of a problem as tables; empty ones where all hosts stay."""
    found = window_pools(problem) if problem.unavailability else []
    tails = np.cumsum([0, *[len(pool.free) + 1 for pool in found]])
    records, runs = np.zeros(len(found), dtype=_POOL), np.zeros(tails[-1], dtype=_RUN)
    for record, pool, tail in zip(records, found, tails[1:].tolist(), strict=True):
        times, numbers = np.unique([free for free, _ in pool.free], return_counts=True)
        head = tail - len(times)
        runs["when"][head:tail], runs["hosts"][head:tail] = times, numbers
        record["until"], record["host_class"], record["head"], record["tail"] = *pool.key, head, tail
    return WindowTables(records, runs)


@compiled
def place_in_windows(pools: NDArray[Any], runs: NDArray[Any], count: int, ready: float) -> tuple[float, float]:
    """Place a task where it ends first; return start and end, infinite if nowhere.

    Args:
        pools: with the task's run time on each; changed.
        runs: changed.
        count: number of hosts.
        ready: time that it may not start before.
    """
    best_start, best_end, best, last = np.inf, np.inf, np.inf, -1.0
    while True:
        threshold = np.inf
        for pool in pools:
            if last < pool.seconds < threshold:
                threshold = pool.seconds
        if threshold == np.inf:
            break
        last = threshold
        start = _first_start(pools, runs, threshold, count, ready)
        if start + threshold < best_end:
            best_start, best_end, best = start, start + threshold, threshold
    if best_end == np.inf:
        return best_start, best_end
    if last > best:
        _first_start(pools, runs, best, count, ready)
    left = count
    for pool in pools:
        taken = min(pool.free, left)
        if taken > 0:
            _occupy(pool, runs, taken, best_end)
            left -= taken
    return best_start, best_end


@compiled
def _first_start(pools: NDArray[Any], runs: NDArray[Any], threshold: float, count: int, ready: float) -> float:
    """Return the earliest time from `ready` when `count` hosts stay free as long as `threshold`.

    Of each pool it is noted how many these are.
    """
    start, total = ready, 0
    for pool in pools:
        pool.free, pool.next = 0, pool.head if pool.seconds <= threshold else pool.tail
    while True:
        soonest = np.inf
        for pool in pools:
            if start + threshold > pool.until:
                total -= pool.free
                pool.free, pool.next = 0, pool.tail
                continue
            while pool.next < pool.tail and runs[pool.next].when <= start:
                pool.free += runs[pool.next].hosts
                total += runs[pool.next].hosts
                pool.next += 1
            if pool.next < pool.tail:
                soonest = min(soonest, runs[pool.next].when)
        if total >= count:
            return start
        if soonest == np.inf:
            return np.inf
        start = soonest


@compiled
def _occupy(pool: Any, runs: NDArray[Any], count: int, end: float) -> None:
    """Occupy `count` hosts of a pool until `end`, those freed last first."""
    head, above, tail = pool.head, pool.next, pool.tail
    begin, left = above, count
    while left > 0:
        begin -= 1
        if runs[begin].hosts > left:
            runs[begin].hosts -= left
            begin += 1
            break
        left -= runs[begin].hosts
    place = tail
    while place > above and runs[place - 1].when >= end:
        place -= 1
    gap = above - begin  # runs that are no more
    if place < tail and runs[place].when == end:
        runs[place].hosts += count
    else:
        gap -= 1
        for run in range(head, begin if gap < 0 else head):
            runs[run - 1] = runs[run]
        for run in range(above, place):
            runs[run - 1] = runs[run]
        runs[place - 1].when, runs[place - 1].hosts = end, count
    for run in range(begin - 1, head - 1 if gap > 0 else begin - 1, -1):
        runs[run + gap] = runs[run]
    pool.head += gap
