"""EASY backfilling in machine code, for tasks that are all released at the start.

It finds the order of `batch_queue.easy`. Loading this module loads numba.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.kernels.jit import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    _Times = NDArray[np.float64]
    _Counts = NDArray[np.int64]

__all__ = ["easy_order"]


@compiled
def easy_order(free: _Times, counts: _Counts, seconds: _Times) -> _Counts:
    """Return (m,) the tasks in the order in which they start.

    Args:
        free: (N,) when each host is free, ascending.
        counts: (m,) hosts of each task, at most as many as become free.
        seconds: (m,) run time of each task on so many hosts.
    """
    tasks = counts.shape[0]
    following = np.arange(1, tasks + 2)  # of the queue: who is behind whom; the last place is its head
    following[tasks] = 0
    when, freed = free.copy(), np.ones(free.shape[0], dtype=np.int64)  # who is at work, the first to end first
    order = np.empty(tasks, dtype=np.int64)
    working, idle, done = free.shape[0], 0, 0
    while done < tasks:
        now = when[0]
        back = 0
        while back < working and when[back] <= now:
            idle += int(freed[back])
            back += 1
        working -= back
        for place in range(working):
            when[place], freed[place] = when[place + back], freed[place + back]
        shadow, spare = np.inf, idle  # nobody is held up, as long as no head has to wait
        ahead, waits = tasks, False
        while following[ahead] < tasks and idle > 0:
            task = int(following[ahead])
            delays = now + seconds[task] > shadow
            if counts[task] > idle or (delays and counts[task] > spare):
                if not waits:
                    waits = True
                    shadow, spare = _reservation(int(counts[task]), idle, when, freed, working)
                ahead = task
                continue
            following[ahead] = following[task]
            idle -= counts[task]
            if delays:
                spare -= counts[task]
            working = _start(now + seconds[task], int(counts[task]), when, freed, working)
            order[done] = task
            done += 1
    return order


@compiled
def _reservation(count: int, idle: int, when: _Times, freed: _Counts, working: int) -> tuple[float, int]:
    """Return when the queue's head can start, and how many hosts it leaves idle then."""
    place = 0
    while idle < count or (place < working and when[place] == when[place - 1]):
        idle += int(freed[place])
        place += 1
    return when[place - 1], idle - count


@compiled
def _start(end: float, count: int, when: _Times, freed: _Counts, working: int) -> int:
    """Add a task to those at work; return how many these are now."""
    place = working
    while place > 0 and when[place - 1] > end:
        when[place], freed[place] = when[place - 1], freed[place - 1]
        place -= 1
    when[place], freed[place] = end, count
    return working + 1
