"""List scheduling on shared hosts in machine code: whatever fits starts, the first of a list first (Graham 1969)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.kernels.jit import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.scheduling.kernels.packing_tables import PackingTables

__all__ = ["packed_list_order"]


@compiled
def packed_list_order(
    problem: PackingTables, priority: NDArray[np.int64], shapes: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the tasks in the order in which they start.

    Args:
        problem: see `packing_kernel.tabulate`.
        priority: (m,) tasks, the first to start where several could.
        shapes: (m,) of each task.
    """
    tasks, rooms = priority.shape[0], problem.until.shape[0]
    coming = _coming(problem)
    when = coming[0]
    free, changed = np.zeros((rooms, problem.rank.shape[0]), dtype=np.int64), np.zeros(rooms, dtype=np.bool_)
    missing = problem.first[1:] - problem.first[:-1]  # predecessors that have not ended
    waiting, running, ends = priority.copy(), np.empty(tasks, dtype=np.int64), np.empty(tasks)
    held = np.empty((tasks, int(problem.hosts.max())), dtype=np.int64)
    tried = np.zeros(tasks, dtype=np.bool_)  # in vain, in all rooms that have not changed since
    order = np.empty(tasks, dtype=np.int64)
    left, active, come, done = tasks, 0, 0, 0
    now = -np.inf
    while left > 0:
        following = when[come] if come < when.shape[0] else np.inf
        for index in range(active):
            following = min(following, ends[running[index]])
        now = min(following, _next_release(problem.release, waiting[:left], missing, now))
        if now == np.inf:  # nothing that comes lets any of them start: they keep their places
            order[done:] = waiting[:left]
            break
        changed[:] = False
        while come < when.shape[0] and when[come] <= now:
            free[coming[1][come], coming[2][come]] += coming[3][come]
            changed[coming[1][come]] = True
            come += 1
        active = _end(problem, shapes, now, running, active, ends, held, free, changed, missing)
        kept = 0
        for index in range(left):
            task = waiting[index]
            ready = missing[task] == 0 and problem.release[task] <= now
            if ready and _start(problem, shapes[task], now, free, changed, tried[task], held[task]):
                ends[task] = now + _seconds(problem, shapes[task], held[task])
                running[active], order[done] = task, task
                active, done = active + 1, done + 1
                continue
            tried[task] = ready
            waiting[kept] = task
            kept += 1
        left = kept
    return order


@compiled
def _next_release(
    release: NDArray[np.float64], waiting: NDArray[np.int64], missing: NDArray[np.int64], now: float
) -> float:
    """Return when the next task is released whose predecessors have ended."""
    following = np.inf
    for task in waiting:
        if release[task] > now and missing[task] == 0:
            following = min(following, release[task])
    return following


@compiled
def _end(
    problem: PackingTables,
    shapes: NDArray[np.int64],
    now: float,
    running: NDArray[np.int64],
    active: int,
    ends: NDArray[np.float64],
    held: NDArray[np.int64],
    free: NDArray[np.int64],
    changed: NDArray[np.bool_],
    missing: NDArray[np.int64],
) -> int:
    """End the running tasks that are over; return how many still run."""
    index = 0
    while index < active:
        task = running[index]
        if ends[task] > now:
            index += 1
            continue
        for room in held[task, : problem.hosts[shapes[task]]]:
            changed[room] = True
            free[room] += problem.demand[shapes[task]]
        for place in range(problem.before.shape[0]):
            if problem.before[place] == task:
                missing[np.searchsorted(problem.first, place, side="right") - 1] -= 1
        active -= 1
        running[index] = running[active]
    return active


@compiled
def _coming(
    problem: PackingTables,
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return when in which room what comes, and how much of it, ascending by time."""
    rows, rooms = problem.begin.shape[0] - 1, problem.until.shape[0]
    found = rooms * problem.units.shape[1] + problem.step_count.sum()
    when, place = np.empty(found), np.empty((3, found), dtype=np.int64)
    found = 0
    for room in range(rooms):
        for row in range(rows):
            for column in range(problem.begin[row], problem.begin[row + 1]):
                if problem.units[room, column] < np.inf:
                    when[found] = problem.units[room, column]
                    place[0, found], place[1, found], place[2, found] = room, row, 1
                    found += 1
        for stair in range(problem.steps.shape[1]):
            had = 0
            for step in range(problem.step_count[room, stair]):
                there = int(problem.steps[room, stair, 1, step])
                when[found] = problem.steps[room, stair, 0, step]
                place[0, found], place[1, found], place[2, found] = room, rows + stair, there - had
                had = there
                found += 1
    ascending = np.argsort(when[:found], kind="mergesort")
    return when[ascending], place[0][ascending], place[1][ascending], place[2][ascending]


@compiled
def _seconds(problem: PackingTables, shape: int, held: NDArray[np.int64]) -> float:
    """Return the run time on the slowest of some rooms."""
    slowest = 0.0
    for place in range(problem.hosts[shape]):
        slowest = max(slowest, problem.seconds[shape, problem.room_class[held[place]]])
    return slowest


@compiled
def _start(
    problem: PackingTables,
    shape: int,
    now: float,
    free: NDArray[np.int64],
    changed: NDArray[np.bool_],
    tried: bool,
    held: NDArray[np.int64],
) -> bool:
    """Take the rooms that a task fits into, those of which it leaves least; return whether there are enough."""
    count, found = problem.hosts[shape], 0
    rests = np.empty(count)
    for room in range(free.shape[0]):
        if tried and count == 1 and not changed[room]:
            continue
        seconds = problem.seconds[shape, problem.room_class[room]]
        if seconds == np.inf or now + seconds > problem.until[room]:
            continue
        rest = _rest(free[room], problem.demand[shape], problem.share[room])
        if rest == np.inf:
            continue
        place = min(found, count)
        while place > 0 and rests[place - 1] > rest:
            if place < count:
                rests[place], held[place] = rests[place - 1], held[place - 1]
            place -= 1
        if place < count:
            rests[place], held[place] = rest, room
            found += 1
    if found < count:
        return False
    for room in held[:count]:
        free[room] -= problem.demand[shape]
    return True


@compiled
def _rest(free: NDArray[np.int64], demand: NDArray[np.int64], share: NDArray[np.float64]) -> float:
    """Return what a task leaves of a room; infinite where it does not fit."""
    rest = 0.0
    for resource in range(free.shape[0]):
        left = free[resource] - demand[resource]
        if left < 0:
            return np.inf
        rest += left * share[resource]
    return rest
